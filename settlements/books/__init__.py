"""Forwarders' balances in our books and on the chain, and their comparison."""
