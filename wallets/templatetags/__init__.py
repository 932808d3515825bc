"""Filters of the merchant's pages about wallets."""
