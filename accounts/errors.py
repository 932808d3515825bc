"""What can go wrong with accounts."""


class LastOwnerError(Exception):
    """A team keeps at least one owner."""
