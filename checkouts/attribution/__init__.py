"""Finds the checkout that a transfer pays, and credits it."""
