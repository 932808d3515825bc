"""Hiding the name in an e-mail address, for pages and logs that say who is meant and no more."""

from typing import Final

_SHOWN_LETTERS: Final = 1


def masked(email: str) -> str:
    """Return an e-mail address with most of its name hidden; empty as it is."""
    name, at, domain = email.rpartition("@")
    return f"{name[:_SHOWN_LETTERS]}•••{at}{domain}" if at else ""
