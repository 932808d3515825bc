"""Reading Solana."""
