"""Mutations of the product: what the suite would notice. See script/mutate."""
