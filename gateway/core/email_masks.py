"""Masks e-mail addresses for pages, files and logs."""

import re
from typing import Final

_SHOWN_LETTERS: Final = 1
# A name, in JSON perhaps quoted; then "@", which a query string has as %40; then a domain.
_ADDRESS: Final = re.compile(r"""(?P<name>\\"[^"\\]+\\"|[^\s"'\\<>()\[\]{},;:/?=&@%]+)(?P<at>@|%40)(?=[\w\[])""")


def masked(email: str) -> str:
    """Return an e-mail address with most of its name hidden; empty stays empty."""
    name, at, domain = email.rpartition("@")
    return f"{name[:_SHOWN_LETTERS]}•••{at}{domain}" if at else ""


def masked_in(text: str) -> str:
    """Return a text, which may be JSON or an address of a page, with every e-mail address in it masked."""
    return _ADDRESS.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    name, at = found["name"], found["at"]
    shown = "" if name.startswith("\\") else name[:_SHOWN_LETTERS]
    return f"{shown}•••{at}"
