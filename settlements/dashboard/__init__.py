"""The merchant's pages of settlements."""
