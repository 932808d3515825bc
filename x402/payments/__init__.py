"""Machine payments: addresses, claims, and their state on the chain."""
