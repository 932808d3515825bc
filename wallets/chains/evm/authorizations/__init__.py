"""Authorisations that a payer signs and anyone may send: EIP-3009's. Nothing here knows what they pay for, or has a key."""
