"""Promising mail. The promise is kept or dropped with the transaction it is made in."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import structlog
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import connection, transaction

from gateway.core.broker import wake_task
from mails.models import RECIPIENT_LENGTH, OutgoingMail
from mails.words import one_line

log = structlog.get_logger(__name__)

SENDER: Final = "mails.send_due_mails"


def insert_mails(source: str, *, key: str, recipient: str, words: str = "") -> str:
    """Return SQL that promises mails from the rows of `source`, for a part of the caller's statement.

    `words` are expressions of subject, text and HTML; without them they are found when a mail is sent. What was promised before
    is passed over. Whoever promised one calls `ring_after_commit`.
    """
    return f"""
        INSERT INTO mails_outgoingmail (key, recipient, subject, text, html, tries, created_at, due_at)
        SELECT {key}, {recipient}, {words or "'', '', ''"}, 0, %(now)s::timestamptz, %(now)s::timestamptz
        FROM {source}
        ON CONFLICT (key) DO NOTHING
    """  # noqa: S608 - only our own text is put in


_SOURCE: Final = """
    unnest(%(keys)s::text[], %(recipients)s::text[], %(subjects)s::text[], %(texts)s::text[], %(htmls)s::text[])
        AS mail (key, recipient, subject, text, html)
"""
_INSERT: Final = (
    insert_mails(_SOURCE, key="key", recipient="recipient", words="subject, text, html")
    + "RETURNING id, key"
)


def queue_mail(
    *,
    key: str,
    recipient: str,
    subject: str,
    text: str,
    html: str = "",
    now: datetime,
) -> OutgoingMail | None:
    """Promise a mail in the caller's transaction; None where it was promised before, or nobody can have that address.

    `key` says what it is about, once for ever. The subject becomes one line of 200 characters at most.
    """
    mail = OutgoingMail(
        key=key,
        recipient=recipient,
        subject=one_line(subject),
        # PostgreSQL keeps no NUL, and no mail needs one.
        text=text.replace("\0", ""),
        html=html.replace("\0", ""),
    )
    return next(iter(_insert([mail], now)), None)


def queue_unwritten(
    mails: Iterable[tuple[str, str]], *, now: datetime
) -> list[OutgoingMail]:
    """Promise mails, each a key and a recipient, whose words are found when they are sent; return those that are new.

    What the key begins with, up to its colon, names the writer in MAIL_WRITERS.
    """
    return _insert([OutgoingMail(key=key, recipient=to) for key, to in mails], now)


def _insert(mails: Sequence[OutgoingMail], now: datetime) -> list[OutgoingMail]:
    possible = {mail.key: mail for mail in mails if _is_possible(mail)}
    if not possible:
        return []
    rows = possible.values()
    columns = {
        "keys": [mail.key for mail in rows],
        "recipients": [mail.recipient for mail in rows],
        "subjects": [mail.subject for mail in rows],
        "texts": [mail.text for mail in rows],
        "htmls": [mail.html for mail in rows],
    }
    new = []
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, columns | {"now": now})
        for pk, key in cursor:
            mail = possible[key]
            mail.pk, mail.created_at, mail.due_at = pk, now, now
            new.append(mail)
    if new:
        ring_after_commit()
    return new


def _is_possible(mail: OutgoingMail) -> bool:
    try:
        validate_email(mail.recipient)
    except ValidationError:
        is_address = False
    else:
        is_address = len(mail.recipient) <= RECIPIENT_LENGTH
    if not is_address:
        log.warning("nobody can have this address: no mail", mail=mail.key)
    return is_address


def ring_after_commit() -> None:
    """Wake the sender once the caller's transaction is committed, however often it asks for that.

    Without a broker the mail waits for the sender's next look, ten seconds at most: whoever promises mail has no time to
    send it.
    """
    waiting = transaction.get_connection().run_on_commit
    if all(callback is not _ring for _, callback, _ in waiting):
        transaction.on_commit(_ring, robust=True)


def _ring() -> None:
    wake_task(SENDER)
