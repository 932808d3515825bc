"""The inbox: money that no rule could credit, and people's decisions about it."""
