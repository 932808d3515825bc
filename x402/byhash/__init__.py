"""Verifies payments by transaction hash (the specification's protocol)."""
