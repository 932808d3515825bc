"""Scheme `exact` on EVM chains: EIP-3009 and Permit2."""
