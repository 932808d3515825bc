"""Delivering webhooks: claiming due deliveries, sending them, recording attempts, retrying."""
