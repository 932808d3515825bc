"""Schemes `exact` (EIP-3009 and Permit2) and `upto` (Permit2) on EVM chains."""
