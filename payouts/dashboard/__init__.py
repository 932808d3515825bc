"""The merchant's pages of refunds and payouts."""
