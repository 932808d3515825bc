"""The claim page: where the recipient of a payout says where the money goes, and reads what became of it."""
