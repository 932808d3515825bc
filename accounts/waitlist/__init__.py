"""The waitlist for card payments: one table, one endpoint."""
