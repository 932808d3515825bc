"""Dashboard pages of watched wallets."""
