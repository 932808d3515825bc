"""The merchant's pages of x402: what machines paid, and where they pay."""
