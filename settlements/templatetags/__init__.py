"""Filters of the merchant's pages about settlements."""
