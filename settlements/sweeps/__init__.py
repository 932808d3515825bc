"""Emptying forwarders into merchants' wallets: planning, sending, recording what arrived."""
