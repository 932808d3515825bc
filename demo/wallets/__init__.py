"""The demo's own wallets, one module for each family of chains, each signing real transfers on a local node."""
