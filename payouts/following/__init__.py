"""Finds on the chain what pays payouts, and compares the books."""
