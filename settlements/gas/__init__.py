"""The gas keys: what they are, what their transactions may cost, and what is asked of nodes for them. No database."""
