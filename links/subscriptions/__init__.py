"""Subscriptions: their periods, their payments and reminders."""
