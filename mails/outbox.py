"""Queues mail. It is kept or dropped with the caller's transaction."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import structlog
from django.db import connection, transaction

from gateway.core.broker import wake_task
from mails.addresses import writable
from mails.models import OutgoingMail
from mails.words import one_line

log = structlog.get_logger(__name__)

SENDER: Final = "mails.send_due_mails"


def insert_mails(source: str, *, key: str, recipient: str, words: str = "") -> str:
    """Return SQL that queues mails from the rows of `source`, as part of the caller's statement.

    `words` are expressions of subject, text and HTML; without them the text is made when a mail is sent. Existing keys are
    skipped. The caller calls `ring_after_commit` if any mail was queued.
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
    insert_mails(_SOURCE, key="key", recipient="recipient", words="subject, text, html") + "RETURNING id, key"
)


def queue_mail(
    *, key: str, recipient: str, subject: str, text: str, html: str = "", now: datetime
) -> OutgoingMail | None:
    """Queue a mail in the caller's transaction; return None if its key exists or the address is impossible.

    `key` identifies it for ever. The subject becomes one line of at most 200 characters.
    """
    mail = OutgoingMail(
        key=key,
        recipient=recipient,
        subject=one_line(subject),
        # PostgreSQL stores no NUL, and no mail needs one.
        text=text.replace("\0", ""),
        html=html.replace("\0", ""),
    )
    return next(iter(_insert([mail], now)), None)


def queue_unwritten(mails: Iterable[tuple[str, str]], *, now: datetime) -> list[OutgoingMail]:
    """Queue mails, each a key and a recipient, with texts made at sending time; return the new ones.

    The key's prefix, up to its colon, names the writer in MAIL_WRITERS.
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
    is_address = writable(mail.recipient) == mail.recipient != ""
    if not is_address:
        log.warning("nobody can have this address: no mail", mail=mail.key)
    return is_address


def ring_after_commit() -> None:
    """Wake the sender once the caller's transaction is committed, once per transaction.

    Without a broker the mail waits for the sender's next poll, ten seconds at most: callers have no time to send it.
    """
    waiting = transaction.get_connection().run_on_commit
    if all(callback is not _ring for _, callback, _ in waiting):
        transaction.on_commit(_ring, robust=True)


def _ring() -> None:
    wake_task(SENDER)
