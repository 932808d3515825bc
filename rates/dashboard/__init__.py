"""The merchant's page about converted prices."""
