"""Commands about settlements."""
