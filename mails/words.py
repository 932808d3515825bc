"""What a mail says. Of some it is known when they are promised, of others it is found when they are sent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from django.conf import settings
from django.utils.module_loading import import_string

from mails.models import SUBJECT_LENGTH, OutgoingMail

# All of ASCII that is no writing; line ends are spaces before it comes to these.
_CONTROLS: Final = dict.fromkeys([*range(32), 127])


@dataclass(frozen=True, slots=True)
class MailWords:
    """A subject, the text, and the same as HTML where somebody drew it."""

    subject: str
    text: str
    html: str = ""


Writer: TypeAlias = Callable[[str], MailWords | None]
"""Finds the words of a mail by what follows the colon in its key; None where there is nothing left to say."""


def words_of(mail: OutgoingMail) -> MailWords | None:
    """Return what a mail says as of now; None where its writer finds it pointless by now."""
    if mail.text:
        return MailWords(mail.subject, mail.text, mail.html)
    name, _, subject = mail.key.partition(":")
    writer: Writer = import_string(settings.MAIL_WRITERS[name])
    return writer(subject)


def one_line(subject: str) -> str:
    """Make a header of a text: what has lines, or control characters, could be read as further headers."""
    return " ".join(subject.split()).translate(_CONTROLS)[:SUBJECT_LENGTH]
