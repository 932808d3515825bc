"""Who approves payouts, one by one or a list at once."""
