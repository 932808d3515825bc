"""Asking for refunds and payouts, their sources and claim pages' codes, cancelling and concluding them."""
