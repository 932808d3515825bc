"""The merchant's pages of webhooks."""
