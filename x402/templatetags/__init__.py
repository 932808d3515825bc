"""Filters of the merchant's pages about machines' payments."""
