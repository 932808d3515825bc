"""Terminals and their devices: add, change, pair by a code, revoke, recognise, and lock while idle.

A code pairs one device, once, within minutes. The device then has a token of its own, of which only the digest is stored. A PIN is no
login: it keeps a device that was left lying from selling, and from showing its sales.
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.urls import reverse

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.brand.facts import with_brand
from accounts.login.guard import Secret, admit, forgive
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Terminal
from checkouts.models.terminals import DEVICE_LENGTH
from checkouts.states import TerminalStatus
from gateway.core.api.errors import ConflictError
from gateway.core.api.fields import ascii_digits
from gateway.core.currencies import USD
from gateway.core.ids import ALPHABET, new_id
from gateway.core.texts import pgettext_noop

PAIRING_LASTS: Final = timedelta(minutes=10)
# 40 random bits, guessed at ten a minute for ten minutes.
CODE_LENGTH: Final = 8
_GROUP: Final = 4
# Read and typed by people: Crockford's alphabet takes these for its own characters.
_MISREAD: Final = str.maketrans({"o": "0", "i": "1", "l": "1", "-": "", " ": ""})
_TOKEN_BYTES: Final = 32
_MOST_LETTERS: Final = 100
# How often a device's last request is written.
_SEEN_EVERY: Final = timedelta(minutes=1)
PIN: Final = re.compile(r"[0-9]{4,6}", re.ASCII)
IDLE: Final = timedelta(minutes=5)
"""How long a device may be idle before it asks for its PIN, if it has one."""
# How often a person's last act at a device with a PIN is written.
_ACTIVE_EVERY: Final = timedelta(seconds=15)

REVOKED: Final = pgettext_noop("team", "This terminal is revoked. Add a new one.")


class PairingError(Exception):
    """The code pairs nothing: it is wrong, used, or too old, or its terminal was revoked."""


@dataclass(frozen=True, slots=True)
class TerminalValues:
    """What a person chooses about a terminal; `tips` are whole percent, `chain` is empty for none.

    `chains` are those whose buttons stand first. `pin` is four to six digits; empty takes the present one away, and None leaves it.
    """

    name: str
    tips: Sequence[int]
    chain: str
    has_sign: bool
    shows_day: bool
    currency: str = USD
    chains: Sequence[str] = ()
    pin: str | None = field(default=None, repr=False)

    def as_fields(self) -> dict[str, Any]:
        """Return the fields of the row, without the PIN."""
        return {
            "name": self.name,
            "currency": self.currency,
            "tips": sorted(set(self.tips)),
            "chain": self.chain,
            "chains": sorted(set(self.chains)),
            "has_sign": self.has_sign,
            "shows_day": self.shows_day,
        }

    def pin_fields(self) -> dict[str, Any]:
        """Return the fields of a PIN that changes; empty if it stays. Its hash is slow to make. Raises RateLimitError."""
        if self.pin is None:
            return {}
        return {"pin_hash": make_password(self.pin) if self.pin else "", "active_at": None}


@transaction.atomic
def add_terminal(merchant: Merchant, mode: Mode, values: TerminalValues, *, actor: Actor, now: datetime) -> Terminal:
    """Add a terminal, not paired yet, and audit it. Raises RateLimitError while too many PINs and passwords are hashed."""
    fields, pin = values.as_fields(), values.pin_fields()
    public_id = new_id(f"ter_{mode}")
    terminal = Terminal.objects.create(
        public_id=public_id, merchant=merchant, mode=mode, created_by=actor.user, created_at=now, **fields, **pin
    )
    told = fields | {"mode": str(mode)} | ({"pin": "set"} if terminal.pin_hash else {})
    _audit(terminal, "terminal.added", actor=actor, now=now, after=told)
    return terminal


@transaction.atomic
def change_terminal(terminal: Terminal, values: TerminalValues, *, actor: Actor, now: datetime) -> None:
    """Change a terminal; the same values again are not audited. A device with a new PIN asks for it at once.

    Raises ConflictError for a revoked one, and RateLimitError while too many PINs and passwords are hashed.
    """
    # The hash before the lock: it takes its time.
    fields, pin = values.as_fields(), values.pin_fields()
    locked = _locked(terminal)
    before = {name: getattr(locked, name) for name in fields}
    told = dict(fields)
    if pin and (pin["pin_hash"] or locked.pin_hash):
        told["pin"] = "set" if pin["pin_hash"] else "removed"
    if before == told:
        return
    for name, value in (fields | pin).items():
        setattr(locked, name, value)
    locked.save(update_fields=[*fields, *pin])
    if pin:
        forgive(locked.public_id, Secret.PIN)
    _audit(locked, "terminal.changed", actor=actor, now=now, before=before, after=told)


@transaction.atomic
def offer_pairing(terminal: Terminal, *, actor: Actor, now: datetime) -> str:
    """Return a new code that pairs a device with the terminal, such as `7H3K-9QZ2`; an older one ends.

    A device that is paired already goes on until another takes its place. Raises ConflictError for a revoked terminal.
    """
    locked = _locked(terminal)
    code = "".join(chr(secrets.choice(ALPHABET)) for _ in range(CODE_LENGTH))
    locked.pair_digest = _digest(code)
    locked.pair_until = now + PAIRING_LASTS
    locked.save(update_fields=["pair_digest", "pair_until"])
    _audit(locked, "terminal.pairing_offered", actor=actor, now=now, after={"name": locked.name})
    return f"{code[:_GROUP]}-{code[_GROUP:]}".upper()


def pairing_address(code: str = "") -> str:
    """Return the address of the page that pairs a device; with a code, behind the `#`, which browsers send to nobody."""
    address = f"{settings.BASE_URL}{reverse('till_pair')}"
    return f"{address}#{code}" if code else address


@transaction.atomic
def pair(typed: str, *, device: str, address: str | None, now: datetime) -> tuple[Terminal, str]:
    """Pair the device that typed a code; return its terminal and the token that the device keeps.

    `device` names it in words. The device that was paired before is signed out. Raises PairingError.
    """
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    # One statement decides: of two devices with one code, the second waits for the first, and finds the code used. Without a join:
    # with one, Django would look for the row in a subquery, which PostgreSQL does not read again after the wait.
    open_merchants = Merchant.objects.filter(closed_at=None)
    offered = Terminal.objects.filter(
        pair_digest=_digest(plain_code(typed)), pair_until__gt=now, revoked_at=None, merchant__in=open_merchants
    )
    paired = offered.update(
        digest=_digest(token),
        pair_digest=None,
        pair_until=None,
        paired_at=now,
        last_seen_at=now,
        active_at=now,
        device=device[:DEVICE_LENGTH],
    )
    if not paired:
        raise PairingError
    terminal = Terminal.objects.select_related("merchant").get(digest=_digest(token))
    actor = Actor(label=f"terminal {terminal.name}", address=address)
    _audit(terminal, "terminal.paired", actor=actor, now=now, after={"name": terminal.name, "device": terminal.device})
    return terminal, token


def show_link_at(
    merchant: Merchant, mode: Mode, link_id: str, terminal_id: str, *, actor: Actor, now: datetime
) -> None:
    """Let a payment link's later checkouts be sales of one terminal, too; of none for an empty `terminal_id`.

    Both are public ids. A terminal follows one link: another that it followed is followed no longer. Raises ConflictError unless the
    terminal is one of the merchant and mode that is not revoked.
    """
    try:
        with transaction.atomic():
            _follow(merchant, mode, link_id, terminal_id, actor=actor, now=now)
    except IntegrityError as error:
        # The unique constraint decides: another person chose another terminal at the same time.
        raise ConflictError(
            pgettext_noop("team", "Another terminal was chosen for this link just now. Look again.")
        ) from error


def _follow(merchant: Merchant, mode: Mode, link_id: str, terminal_id: str, *, actor: Actor, now: datetime) -> None:
    rows = Terminal.objects.select_for_update(of=("self",)).select_related("merchant")
    mine = rows.filter(merchant=merchant, mode=mode, revoked_at=None).order_by("pk")
    found = list(mine.filter(Q(follows=link_id) | Q(public_id=terminal_id)))
    if terminal_id and terminal_id not in {row.public_id for row in found}:
        raise ConflictError(pgettext_noop("team", "This terminal is revoked, or not yours. Choose another."))
    # The one that stops first, or the constraint would refuse the one that begins.
    for row in sorted(found, key=lambda row: row.public_id == terminal_id):
        before, after = row.follows, link_id if row.public_id == terminal_id else ""
        if before == after:
            continue
        row.follows = after
        row.save(update_fields=["follows"])
        told = {"name": row.name}
        _audit(
            row,
            "terminal.changed",
            actor=actor,
            now=now,
            before=told | {"follows": before},
            after=told | {"follows": after},
        )


def status_of(terminal: Terminal) -> TerminalStatus:
    """Return whether a device may sell at a terminal."""
    if terminal.revoked_at is not None:
        return TerminalStatus.REVOKED
    return TerminalStatus.UNPAIRED if terminal.digest is None else TerminalStatus.PAIRED


@transaction.atomic
def revoke_terminal(terminal: Terminal, *, actor: Actor, now: datetime) -> bool:
    """End a terminal for good; return whether this call did it. Its device's next request finds no terminal."""
    locked = Terminal.objects.select_for_update(of=("self",)).select_related("merchant").get(pk=terminal.pk)
    if locked.revoked_at is not None:
        return False
    locked.digest = locked.pair_digest = locked.pair_until = None
    # Another terminal may follow its link now.
    locked.follows = ""
    locked.revoked_at = now
    locked.save(update_fields=["digest", "pair_digest", "pair_until", "follows", "revoked_at"])
    _audit(locked, "terminal.revoked", actor=actor, now=now, before={"name": locked.name, "device": locked.device})
    return True


def terminal_of(token: str, *, now: datetime) -> Terminal | None:
    """Return the terminal of a device's token, its merchant and brand loaded; None if there is none any more."""
    if not 0 < len(token) <= _MOST_LETTERS:
        return None
    open_ones = Terminal.objects.filter(revoked_at=None, merchant__closed_at=None)
    terminal = with_brand(open_ones).filter(digest=_digest(token)).first()
    if terminal is not None and (terminal.last_seen_at is None or terminal.last_seen_at < now - _SEEN_EVERY):
        Terminal.objects.filter(pk=terminal.pk).update(last_seen_at=now)
    return terminal


def is_locked(terminal: Terminal, *, now: datetime) -> bool:
    """Return whether a terminal's device must ask for its PIN: it has one, and was idle for five minutes."""
    if not terminal.pin_hash:
        return False
    return terminal.active_at is None or terminal.active_at < now - IDLE


def note_act(terminal: Terminal, *, now: datetime) -> None:
    """Note that a person does something at a device, which is not locked."""
    if terminal.pin_hash and (terminal.active_at is None or terminal.active_at < now - _ACTIVE_EVERY):
        # A PIN that was changed meanwhile is asked for, all the same.
        same = Terminal.objects.filter(pk=terminal.pk, pin_hash=terminal.pin_hash, active_at__isnull=False)
        same.update(active_at=now)


def unlock(terminal: Terminal, typed: str, *, now: datetime) -> bool:
    """Return whether a PIN is right; the device then goes on.

    Raises LockedError after five wrong ones, for fifteen minutes, and RateLimitError while too many PINs and passwords are hashed.
    """
    admit(terminal.public_id, Secret.PIN, now=now)
    plain = ascii_digits(typed.strip())
    if not PIN.fullmatch(plain) or not check_password(plain, terminal.pin_hash):
        return False
    forgive(terminal.public_id, Secret.PIN)
    return bool(Terminal.objects.filter(pk=terminal.pk, pin_hash=terminal.pin_hash).update(active_at=now))


def plain_code(typed: str) -> str:
    """Return a typed code as it was made: in small letters, without marks between, misread characters put right."""
    return typed[:_MOST_LETTERS].lower().translate(_MISREAD)


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _locked(terminal: Terminal) -> Terminal:
    locked = Terminal.objects.select_for_update(of=("self",)).select_related("merchant").get(pk=terminal.pk)
    if locked.revoked_at is not None:
        raise ConflictError(REVOKED)
    return locked


def _audit(
    terminal: Terminal,
    action: str,
    *,
    actor: Actor,
    now: datetime,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    record(
        terminal.merchant, action=action, actor=actor, object_id=terminal.public_id, before=before, after=after, now=now
    )
