"""Sweeps: empty forwarders into merchants' wallets (plan, send, record the result)."""
