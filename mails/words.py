"""Texts of mails: some are stored when queued, others are made when sent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from django.conf import settings
from django.utils.module_loading import import_string

from mails.models import SUBJECT_LENGTH, OutgoingMail

# ASCII control characters; line ends are already spaces here.
_CONTROLS: Final = dict.fromkeys([*range(32), 127])


@dataclass(frozen=True, slots=True)
class MailFile:
    """A file that a mail brings along."""

    name: str
    content: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class MailWords:
    """Subject, text, and optionally HTML and a file.

    `unsubscribe` is an address that ends mails of this kind by one POST (RFC 8058), and shows a button for that to a browser.
    """

    subject: str
    text: str
    html: str = ""
    unsubscribe: str = ""
    file: MailFile | None = None


Writer: TypeAlias = Callable[[str], MailWords | None]
"""Returns the text of a mail from the part of its key after the colon; None if there is no longer a reason to send it."""


Readers: TypeAlias = Callable[[str], bool]
"""Returns from the key of a mail with text whether its reader may still have it."""


class TooEarlyError(Exception):
    """A writer does not know yet whether there is a reason to send a mail: it waits, and no try is counted."""


def words_of(mail: OutgoingMail) -> MailWords | None:
    """Return a mail's current text; None if there is no reason to send it, or no reader. Raises TooEarlyError."""
    if mail.text:
        still_reads: Readers = import_string(settings.MAIL_READERS)
        return MailWords(mail.subject, mail.text, mail.html) if still_reads(mail.key) else None
    name, _, subject = mail.key.partition(":")
    writer: Writer = import_string(settings.MAIL_WRITERS[name])
    return writer(subject)


def one_line(subject: str) -> str:
    """Return a text as one header line: line breaks or control characters could start further headers."""
    return " ".join(subject.split()).translate(_CONTROLS)[:SUBJECT_LENGTH]
