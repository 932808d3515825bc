"""The inbox: money that no rule could credit, and what people decide about it."""
