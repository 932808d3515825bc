"""E-mail addresses: which can be written to, and how they are masked for pages, files and logs.

Internationalised ones can be written to (RFC 6531).
"""

import re
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

from mails.models import RECIPIENT_LENGTH

# RFC 5321, in bytes.
_MOST_LOCAL: Final = 64
_ATOM: Final = r"[-!#$%&'*+/=?^_`{}|~0-9A-Z\u0080-\U0010ffff]+"

_SHOWN_LETTERS: Final = 1
# A name, in JSON perhaps quoted; then "@", which a query string has as %40; then a domain.
_IN_TEXT: Final = re.compile(r"""(?P<name>\\"[^"\\]+\\"|[^\s"'\\<>()\[\]{},;:/?=&@%]+)(?P<at>@|%40)(?=[\w\[])""")


class _AddressValidator(EmailValidator):
    """Django's validator, with letters of any script before the @ too. The caller refuses unprintable characters."""

    user_regex = re.compile(rf'{_ATOM}(?:\.{_ATOM})*\Z|"(?:[^"\\]|\\.)+"\Z', re.IGNORECASE)


validate_address: Final = _AddressValidator()


def writable(text: str) -> str:
    """Return an address without the blanks around it; "" if no mail server can take it."""
    address = text.strip()
    if not address.isprintable() or len(address) > RECIPIENT_LENGTH:
        return ""
    try:
        validate_address(address)
        local, _, domain = address.rpartition("@")
        # A literal address is in brackets; a name is sent in ASCII.
        _ = domain.startswith("[") or domain.encode("idna")
    except (ValidationError, UnicodeError):
        return ""
    return address if len(local.encode()) <= _MOST_LOCAL else ""


def is_international(address: str) -> bool:
    """Return whether a server must offer SMTPUTF8 for an address: its local part is not ASCII."""
    return not address.rpartition("@")[0].isascii()


def masked(email: str) -> str:
    """Return an e-mail address with most of its name hidden; empty stays empty."""
    name, at, domain = email.rpartition("@")
    return f"{name[:_SHOWN_LETTERS]}•••{at}{domain}" if at else ""


def masked_in(text: str) -> str:
    """Return a text, which may be JSON or an address of a page, with every e-mail address in it masked."""
    return _IN_TEXT.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    name, at = found["name"], found["at"]
    shown = "" if name.startswith("\\") else name[:_SHOWN_LETTERS]
    return f"{shown}•••{at}"
