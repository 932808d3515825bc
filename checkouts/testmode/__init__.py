"""Test mode: simulated payments of test checkouts."""
