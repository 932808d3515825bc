"""Logging in: passwords, second factors, sessions, and limits on guessing."""
