"""Webhook endpoints: their URLs, secrets, health and test events."""
