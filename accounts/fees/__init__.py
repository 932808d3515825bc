"""What the service costs a merchant: plans, fee entries and their daily totals."""
