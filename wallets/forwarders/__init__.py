"""Deposit addresses (CREATE2 forwarders): computing them, and deploying their factory."""
