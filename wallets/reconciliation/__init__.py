"""Reconciliation of each chain: compare transfers with further sources, confirm large ones, read missed ones again."""
