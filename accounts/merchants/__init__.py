"""Merchants: making one, its settings, closing and reopening the account."""
