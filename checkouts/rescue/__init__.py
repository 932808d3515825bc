"""Looks up a buyer's transaction hash in our books and on the chain: "paid but not showing up?"."""
