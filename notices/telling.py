"""The pass that tells of facts: it queues mails, and publishes notes to devices and chats.

Each telling has a key of its own in the table of mails or of events. So a fact that is looked at again, by another process or after
a crash, is told once.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

import structlog
from django.db import transaction
from django.utils import translation

from accounts.states import Mode, Role
from gateway.core.api import rate_limits
from gateway.core.api.rate_limits import Limit
from gateway.core.web.login_languages import ENGLISH, mail_language
from mails.models import OutgoingMail
from mails.outbox import queue_unwritten
from notices.chats import mute_chat_url
from notices.choices import Member, chats_of, devices_of, operators_seats, payment_takers, team_of
from notices.facts import Fact, recent
from notices.mails import mute_push_path
from notices.models import Chat, Device, Pass
from notices.states import How, Kind, Way
from notices.words import chat_body, push_body
from webhooks.endpoints.targets import UNREADABLE, Target, stored_target
from webhooks.models import Endpoint, Event
from webhooks.outbox.events import NewEvent, publish
from webhooks.states import NOTES

log = structlog.get_logger(__name__)

MAIL: Final = "notice"
"""The prefix of keys of mails at once."""
OVERLAP: Final = timedelta(minutes=2)
"""How long after its time a row may be committed: no transaction takes longer (CELERY_TASK_TIME_LIMIT)."""
LONGEST_BACK: Final = timedelta(days=1)
"""What happened before is told no more: after an outage people look at the dashboard themselves."""
# Strangers cause these: so many of one kind are told to one taker in an hour.
_FLOODS: Final = frozenset({Kind.INBOX, Kind.REPORT})
_FLOOD: Final = Limit("notices", 30, seconds=3_600)


@dataclass(frozen=True, slots=True)
class _Mail:
    """A mail to a member about a fact."""

    fact: Fact
    member: Member

    @property
    def key(self) -> str:
        return f"{MAIL}:{self.taker_id}:{self.fact.key}"

    @property
    def taker_id(self) -> str:
        return str(self.member.seat.pk)


@dataclass(frozen=True, slots=True)
class _Note:
    """A fact to a device or chat."""

    fact: Fact
    taker: Device | Chat
    endpoint: Endpoint
    mer_id: str
    # The owner of a device.
    member: Member | None = None

    @property
    def key(self) -> str:
        return f"{MAIL}:{self.taker_id}:{self.fact.key}"

    @property
    def taker_id(self) -> str:
        return self.taker.public_id


_Telling = TypeVar("_Telling", _Mail, _Note)


def tell_all(*, now: datetime) -> int:
    """Tell of the facts of every kind; return how many mails and notes there were. A kind that fails keeps no other back."""
    told = 0
    for kind in Kind:
        try:
            told += tell(kind, now=now)
        except Exception:  # one kind's rows must not keep the others from being told; the next pass tries again
            log.exception("notices of a kind were not told", kind=str(kind))
    return told


@transaction.atomic
def tell(kind: Kind, *, now: datetime) -> int:
    """Tell of a kind's facts since the last pass; return how many mails and notes there were.

    The first pass ever tells of nothing that was before. Another process's pass is left alone.
    """
    Pass.objects.bulk_create([Pass(name=kind, told_until=now)], ignore_conflicts=True)
    last = Pass.objects.select_for_update(skip_locked=True).filter(name=kind).first()
    if last is None:
        return 0
    since = max(last.told_until - OVERLAP, now - LONGEST_BACK)
    takers = payment_takers() if kind == Kind.PAYMENT else ()
    facts = recent(kind, since=since, now=now, takers=takers) if takers or kind != Kind.PAYMENT else []
    told = sum(_tell(mode, [one for one in facts if one.mode == mode], now) for mode in Mode) if facts else 0
    Pass.objects.filter(name=kind).update(told_until=now)
    return told


def _tell(mode: Mode, facts: Sequence[Fact], now: datetime) -> int:
    if not facts:
        return 0
    merchants = {one.merchant_id for one in facts if one.merchant_id is not None}
    teams = team_of(merchants, mode)
    operators = operators_seats(mode) if any(one.merchant_id is None for one in facts) else []
    pairs = [
        (one, member)
        for one in facts
        for member in (operators if one.merchant_id is None else teams.get(one.merchant_id, ()))
    ]
    mails = _unmailed(_mails(pairs))
    notes = _unpublished([*_pushes(pairs), *_chats(facts)])
    queued = queue_unwritten([(one.key, one.member.seat.user.email) for one in _unflooded(mails)], now=now)
    # Last in the transaction: it locks the counters of the notes' streams.
    events = publish([event for note in _unflooded(notes) if (event := _event(note)) is not None], now=now)
    return len(queued) + len(events)


def _mails(pairs: Iterable[tuple[Fact, Member]]) -> Iterator[_Mail]:
    for fact, member in pairs:
        knows = fact.owners_are_mailed and member.role == Role.OWNER
        if member.how(fact.kind, Way.MAIL) == How.AT_ONCE and not knows:
            yield _Mail(fact, member)


def _pushes(pairs: Sequence[tuple[Fact, Member]]) -> Iterator[_Note]:
    devices = devices_of({member.seat.merchant_id for _, member in pairs})
    for fact, member in pairs:
        if member.how(fact.kind, Way.PUSH) == How.AT_ONCE:
            for device in devices.get((member.seat.user_id, member.seat.merchant_id), ()):
                yield _Note(fact, device, device.endpoint, member.seat.merchant.public_id, member)


def _chats(facts: Sequence[Fact]) -> Iterator[_Note]:
    chats = chats_of(facts)
    for fact in facts:
        for chat in chats.get((fact.merchant_id or 0, fact.mode), ()):
            if fact.kind in chat.kinds:
                yield _Note(fact, chat, chat.endpoint, chat.merchant.public_id)


def _unmailed(mails: Iterable[_Mail]) -> list[_Mail]:
    """Return the mails that were not queued before. The unique key decides; this saves the limits' counts."""
    wanted = {one.key: one for one in mails}
    known = set(OutgoingMail.objects.filter(key__in=list(wanted)).values_list("key", flat=True))
    return [one for key, one in wanted.items() if key not in known]


def _unpublished(notes: Iterable[_Note]) -> list[_Note]:
    """Return the notes that were not published before. The unique occurrence decides; this saves encrypting them."""
    wanted = {one.key: one for one in notes}
    known = set(Event.objects.filter(occurrence__in=list(wanted)).values_list("occurrence", flat=True))
    return [one for key, one in wanted.items() if key not in known]


def _unflooded(tellings: Sequence[_Telling]) -> Iterator[_Telling]:
    for one in tellings:
        if one.fact.kind in _FLOODS:
            state = rate_limits.hit(_FLOOD, f"{one.taker_id}:{one.fact.kind}", now=time.time())
            if state.exceeded:
                continue
        yield one


def _event(note: _Note) -> NewEvent | None:
    """Return a note with the bytes that its device or chat takes; None if its secret is gone, or cannot be read."""
    try:
        target = stored_target(note.endpoint.pk)
    except UNREADABLE as error:
        log.warning("a notice has no readable address", endpoint=note.endpoint.pk, error=type(error).__name__)
        return None
    return NewEvent(
        merchant_id=note.endpoint.merchant_id,
        mode=NOTES,
        type=f"notice.{note.fact.kind}",
        subject_id=note.taker.public_id,
        occurrence=note.key,
        data=b"",
        url=note.endpoint.url,
        body=_body(note, target),
    )


def _body(note: _Note, target: Target) -> bytes:
    url = note.fact.url(note.mer_id)
    if isinstance(note.taker, Device):
        mute = mute_push_path(note.member, note.fact.kind) if note.member else ""
        with translation.override(mail_language(note.taker.user.language)):
            return push_body(note.fact, url, target, mute=mute)
    # A chat has readers of several languages.
    with translation.override(ENGLISH):
        return chat_body(note.fact, url, note.taker, target, mute=mute_chat_url(note.taker, note.fact.kind))
