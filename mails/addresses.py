"""Which e-mail addresses can be written to. Internationalised ones can (RFC 6531)."""

import re
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

from mails.models import RECIPIENT_LENGTH

# RFC 5321, in bytes.
_MOST_LOCAL: Final = 64
_ATOM: Final = r"[-!#$%&'*+/=?^_`{}|~0-9A-Z\u0080-\U0010ffff]+"


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
