"""Verifying a payment by its transaction hash (the specification's protocol)."""
