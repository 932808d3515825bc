"""Fees: plans, fee entries and their daily totals."""
