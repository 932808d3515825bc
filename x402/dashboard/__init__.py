"""The merchant's pages of x402: machines' payments, and where they pay."""
