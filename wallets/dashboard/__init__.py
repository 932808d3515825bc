"""Dashboard pages of receiving wallets and watched wallets."""
