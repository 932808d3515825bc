"""Commands about checkouts."""
