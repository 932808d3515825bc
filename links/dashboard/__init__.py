"""The merchant's pages of payment links."""
