"""API keys: their format, making and revoking them, and authentication by key."""
