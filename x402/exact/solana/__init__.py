"""Scheme `exact` on Solana: the payer signs the whole transfer, and an account of ours only pays the network's fee.

Rules and codes are those of PyPI x402 2.25.
"""
