"""Webhook endpoints that merchants add beside the default one: what each receives, its secret, its API."""
