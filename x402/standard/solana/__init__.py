"""The scheme `exact` on Solana: the payer signs a whole transfer, and an account of ours only pays for the network.

Rules and codes are those of PyPI x402 2.25.
"""
