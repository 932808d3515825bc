"""Merchants: creation, settings, closing and reopening the account."""
