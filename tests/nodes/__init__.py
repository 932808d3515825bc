"""Real local chain nodes, and what tests and the demo do on them. No pytest outside fixtures.py: the demo imports this."""
