"""What happens to a checkout after creation: status moves, expiry, cancellation, reversals, fees, receipts."""
