"""What a paying wallet is given for approved payouts, by each method, and when it ends."""
