"""The scheme `exact` on Solana: the payer signs a whole transfer, and an account of ours only pays for the network.

Written anew: PyPI x402 2.25 wants a client that solana 0.40, which everything else here needs, no longer has. Rules and
codes are the library's.
"""
