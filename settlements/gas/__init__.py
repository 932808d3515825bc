"""Gas accounts: keys, limits, the ledger of nonces, and requests to nodes."""
