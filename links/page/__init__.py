"""The public page of a payment link."""
