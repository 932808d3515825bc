"""Refunds and payouts: money that merchants send from their own wallets, and that only the chain calls paid."""
