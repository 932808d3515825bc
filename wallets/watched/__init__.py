"""Watched wallets: their history and balances, read beside the chain's watcher."""
