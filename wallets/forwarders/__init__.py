"""Deposit addresses (CREATE2 forwarders): derivation, and deployment of their factory."""
