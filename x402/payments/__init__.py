"""Payments that machines made: where they pay, who used one up, and what happened to it on chain."""
