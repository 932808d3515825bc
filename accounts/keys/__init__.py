"""API keys: format, creation, revocation, and authentication."""
