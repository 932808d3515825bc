"""Masks e-mail addresses for pages and logs."""

from typing import Final

_SHOWN_LETTERS: Final = 1


def masked(email: str) -> str:
    """Return an e-mail address with most of its name hidden; empty stays empty."""
    name, at, domain = email.rpartition("@")
    return f"{name[:_SHOWN_LETTERS]}•••{at}{domain}" if at else ""
