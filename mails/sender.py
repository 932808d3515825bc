"""Sends queued mail, and deletes it later: addresses and texts are personal data.

A mail is sent once; twice only if a process dies between sending it and recording that.
"""

import secrets
import time
from datetime import datetime, timedelta
from email import message_from_bytes
from email.policy import SMTPUTF8
from email.utils import parseaddr
from hashlib import sha256
from smtplib import SMTP, SMTPDataError, SMTPNotSupportedError, SMTPRecipientsRefused, SMTPSenderRefused
from typing import Final

import structlog
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import F

from gateway.core.leases import leases
from mails.addresses import is_international
from mails.models import OutgoingMail
from mails.words import MailWords, TooEarlyError, one_line, words_of

log = structlog.get_logger(__name__)
# Saves workers for other tasks; the claims already prevent sending twice. Held for a task's longest time: if its process
# dies, it has ended by then.
LEASE: Final = "mails"
HELD_SECONDS: Final = 60.0
# A server that does not answer would take ten seconds of a worker's time with each mail.
PAUSE_SECONDS: Final = 60.0
MOST_TRIES: Final = 12
# 3 minutes, doubling up to 12 hours: two days in all. Longer than any task runs, so that a mail being sent is not claimed
# again.
FIRST_WAIT: Final = timedelta(minutes=3)
LONGEST_WAIT: Final = timedelta(hours=12)
# How long a mail waits if it is too early for its text, and when such a mail is dropped.
POSTPONED: Final = timedelta(minutes=10)
LONGEST_POSTPONED: Final = timedelta(days=30)
# No mail is started later; one may take as long as the task's time limit allows.
MOST_SECONDS: Final = 5.0

_CLAIM = """
    UPDATE mails_outgoingmail
    SET tries = tries + 1,
        due_at = %(now)s::timestamptz + least(%(first)s::interval * 2 ^ tries, %(longest)s::interval)
    WHERE id = (SELECT id FROM mails_outgoingmail WHERE due_at <= %(now)s::timestamptz
                ORDER BY due_at, id LIMIT 1
                FOR UPDATE SKIP LOCKED)
    RETURNING *
"""
# Errors about one mail. Any other error would affect the next mail too.
_REFUSALS = (SMTPDataError, SMTPNotSupportedError, SMTPRecipientsRefused, SMTPSenderRefused)

MAILS_KEPT: Final = timedelta(days=30)
_BATCH: Final = 5_000


def send_due_mails(*, now: datetime) -> int:
    """Send due mails for five seconds; return how many were tried.

    None if another process is sending, or the server needs a pause. Two senders at once never send the same mail.
    """
    sender = secrets.token_hex(8)
    if leases.take(LEASE, sender, seconds=HELD_SECONDS) is None:
        return 0
    run = _Run(now)
    try:
        run.send()
    finally:
        pause = PAUSE_SECONDS if run.is_server_away else 0.0
        leases.release(LEASE, sender, seconds=pause)
    return run.taken


class _Run:
    """One sender's run, over one connection to the mail server."""

    def __init__(self, now: datetime) -> None:
        self.taken = 0
        self.is_server_away = False
        self._now = now
        self._server: BaseEmailBackend = get_connection()

    def send(self) -> None:
        """Send until nothing is due, the time is over, or the server is down."""
        ends_at = time.monotonic() + MOST_SECONDS
        try:
            while time.monotonic() < ends_at and not self.is_server_away:
                mail = claim_next(self._now)
                if mail is None:
                    break
                self.taken += 1
                self._deal_with(mail)
        finally:
            self._server.close()

    def _deal_with(self, mail: OutgoingMail) -> None:
        """Send one mail; whatever fails, the next one is sent too."""
        if mail.tries > MOST_TRIES:
            _give_up(mail)
            return
        try:
            words = words_of(mail)
            if words is not None:
                # Otherwise each mail would have its own connection.
                self._server.open()
                _send(message_of(mail, words, self._server))
        except TooEarlyError:
            _postpone(mail, self._now)
        except Exception as error:  # noqa: BLE001 - the words' writer's, the backend's, the server's: all are one failed try
            self._fail(mail, error)
        else:
            self._settle(mail, is_sent=words is not None)

    def _settle(self, mail: OutgoingMail, *, is_sent: bool) -> None:
        row = OutgoingMail.objects.filter(pk=mail.pk)
        if is_sent:
            row.update(sent_at=self._now, due_at=None)
        else:
            row.delete()

    def _fail(self, mail: OutgoingMail, error: Exception) -> None:
        # The server's answer may quote an address.
        log.warning("mail not sent", mail=mail.key, error=type(error).__name__)
        self.is_server_away = isinstance(error, OSError) and not isinstance(error, _REFUSALS)
        _hang_up(self._server)
        if mail.tries >= MOST_TRIES:
            _give_up(mail)


def claim_next(now: datetime) -> OutgoingMail | None:
    """Claim the mail that is due longest, and count a try. It cannot be claimed again before that try is over."""
    waits = {"now": now, "first": FIRST_WAIT, "longest": LONGEST_WAIT}
    return next(iter(OutgoingMail.objects.raw(_CLAIM, waits)), None)


def _postpone(mail: OutgoingMail, now: datetime) -> None:
    row = OutgoingMail.objects.filter(pk=mail.pk)
    if now - mail.created_at < LONGEST_POSTPONED:
        row.update(tries=F("tries") - 1, due_at=now + POSTPONED)
    else:
        row.delete()


def _hang_up(server: BaseEmailBackend) -> None:
    """Close a connection, perhaps in the middle of a command: a server that does not answer would not answer QUIT either."""
    session = getattr(server, "connection", None)
    if isinstance(session, SMTP):
        session.close()
    server.close()


def _give_up(mail: OutgoingMail) -> None:
    log.error("mail given up", mail=mail.key, tries=MOST_TRIES)
    OutgoingMail.objects.filter(pk=mail.pk).update(due_at=None)


def _send(message: EmailMultiAlternatives) -> None:
    """Send a message. No server reads how Django encodes a local part that is not ASCII, so smtplib sends it by SMTPUTF8."""
    session = getattr(message.connection, "connection", None)
    if not isinstance(session, SMTP) or not is_international(message.to[0]):
        message.send()
        return
    written = message_from_bytes(message.message().as_bytes(), policy=SMTPUTF8)
    local, _, domain = message.to[0].rpartition("@")
    address = f"{local}@{domain.encode('idna').decode()}"
    written.replace_header("To", address)
    session.send_message(written)


def message_of(mail: OutgoingMail, words: MailWords, server: BaseEmailBackend) -> EmailMultiAlternatives:
    """Return the message. Sent twice it has the same Message-ID, so most mail programs show one."""
    _, sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
    name = sha256(mail.key.encode()).hexdigest()[:32]
    message = EmailMultiAlternatives(
        one_line(words.subject),
        words.text,
        to=[mail.recipient],
        connection=server,
        headers={
            "Message-ID": f"<{name}@{sender.rpartition('@')[2]}>",
            # RFC 3834: prevents out-of-office replies.
            "Auto-Submitted": "auto-generated",
        }
        | _unsubscribing(words.unsubscribe),
    )
    if words.html:
        message.attach_alternative(words.html, "text/html")
    if words.file:
        message.attach(words.file.name, words.file.content, words.file.media_type)
    return message


def _unsubscribing(url: str) -> dict[str, str]:
    """Return the headers by which mail programs show a button (RFC 2369, RFC 8058)."""
    if not url:
        return {}
    return {"List-Unsubscribe": f"<{url}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}


def prune_mails(*, now: datetime) -> int:
    """Delete mails queued more than 30 days ago that were sent or given up; return how many."""
    ended = OutgoingMail.objects.filter(due_at=None, created_at__lt=now - MAILS_KEPT)
    pruned = 0
    while ids := list(ended.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        deleted, _ = OutgoingMail.objects.filter(pk__in=ids).delete()
        pruned += deleted
    return pruned
