"""A Solana node on loopback: JSON-RPC over LiteSVM, which runs the real programs without validators around them."""
