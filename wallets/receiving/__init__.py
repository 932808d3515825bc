"""Receiving wallets: setting them, proving them, changing them, and claims of an address."""
