"""Deliveries and their attempts in the API, only to read: which exist, and what they show."""
