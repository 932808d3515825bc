"""Sending what was promised. A mail goes once; twice only where a process died between sending it and saying so.

Nothing is locked while a server is spoken to: a row is claimed by moving its next try into the future, which counts the
try as well. So a mail that takes its process down with it waits its turn like any other that failed.
"""

import secrets
import time
from datetime import datetime, timedelta
from email.utils import parseaddr
from hashlib import sha256
from smtplib import SMTP, SMTPDataError, SMTPRecipientsRefused, SMTPSenderRefused
from typing import Final

import structlog
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend

from gateway.core.leases import leases
from mails.models import OutgoingMail
from mails.words import MailWords, one_line, words_of

log = structlog.get_logger(__name__)

# A courtesy to the other tasks, for workers are few: that no mail goes twice is the claims' doing. Held as long as a task may
# take at most: whoever died with it is gone by then.
LEASE: Final = "mails"
HELD_SECONDS: Final = 60.0
# A server that does not answer would take ten seconds of a worker's time with each mail.
PAUSE_SECONDS: Final = 60.0
MOST_TRIES: Final = 12
# 3 minutes, then twice as long each time, up to 12 hours: two days in all. Longer than any task runs, so that nobody
# claims what somebody is sending.
FIRST_WAIT: Final = timedelta(minutes=3)
LONGEST_WAIT: Final = timedelta(hours=12)
# No mail is begun later; one may take as long as the task's time limit lets it.
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
# What a server says about one mail. Everything else that goes wrong with it would go wrong with the next one too.
_REFUSALS = (SMTPDataError, SMTPRecipientsRefused, SMTPSenderRefused)


def send_due_mails(*, now: datetime) -> int:
    """Send what is due, for five seconds; return how many mails were taken up.

    None, where somebody else is sending, or the server needs a pause. Two senders at once never send the same mail.
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
    """One sender's work, over one connection to the mail server."""

    def __init__(self, now: datetime) -> None:
        self.taken = 0
        self.is_server_away = False
        self._now = now
        self._server: BaseEmailBackend = get_connection()

    def send(self) -> None:
        """Send until nothing is due, the time is over, or the server is away."""
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
        """Send one mail; whatever is wrong with it, the next one is sent too."""
        if mail.tries > MOST_TRIES:
            _give_up(mail)
            return
        try:
            words = words_of(mail)
            if words is not None:
                # Without this each mail would have a connection of its own.
                self._server.open()
                message_of(mail, words, self._server).send()
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
        # What the server says may quote an address.
        log.warning("mail not sent", mail=mail.key, error=type(error).__name__)
        self.is_server_away = isinstance(error, OSError) and not isinstance(
            error, _REFUSALS
        )
        _hang_up(self._server)
        if mail.tries >= MOST_TRIES:
            _give_up(mail)


def claim_next(now: datetime) -> OutgoingMail | None:
    """Claim the mail that has been due longest, and count a try. Nobody else gets it before that try is over."""
    waits = {"now": now, "first": FIRST_WAIT, "longest": LONGEST_WAIT}
    return next(iter(OutgoingMail.objects.raw(_CLAIM, waits)), None)


def _hang_up(server: BaseEmailBackend) -> None:
    """End a conversation that may be in the middle of a sentence: who does not answer would not answer a goodbye either."""
    session = getattr(server, "connection", None)
    if isinstance(session, SMTP):
        session.close()
    server.close()


def _give_up(mail: OutgoingMail) -> None:
    log.error("mail given up", mail=mail.key, tries=MOST_TRIES)
    OutgoingMail.objects.filter(pk=mail.pk).update(due_at=None)


def message_of(
    mail: OutgoingMail, words: MailWords, server: BaseEmailBackend
) -> EmailMultiAlternatives:
    """Return a mail as it goes over the wire. Sent twice it has the same Message-ID, and most mail programs show one."""
    _, sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
    name = sha256(mail.key.encode()).hexdigest()[:32]
    message = EmailMultiAlternatives(
        one_line(words.subject),
        words.text,
        to=[mail.recipient],
        connection=server,
        headers={
            "Message-ID": f"<{name}@{sender.rpartition('@')[2]}>",
            # RFC 3834: no out-of-office note answers this.
            "Auto-Submitted": "auto-generated",
        },
    )
    if words.html:
        message.attach_alternative(words.html, "text/html")
    return message
