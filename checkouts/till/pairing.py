"""Terminals and their devices: add, change, pair by a code, revoke, and recognise.

A code pairs one device, once, within minutes. The device then has a token of its own, of which only the digest is stored.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from django.db import transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.brand.facts import with_brand
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Terminal
from checkouts.models.terminals import DEVICE_LENGTH
from gateway.core.api.errors import ConflictError
from gateway.core.ids import ALPHABET, new_id

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

REVOKED: Final = "This terminal is revoked. Add a new one."


class PairingError(Exception):
    """The code pairs nothing: it is wrong, used, or too old, or its terminal was revoked."""


@dataclass(frozen=True, slots=True)
class TerminalValues:
    """What a person chooses about a terminal; `tips` are whole percent, `chain` is empty for none."""

    name: str
    tips: Sequence[int]
    chain: str
    has_sign: bool
    shows_day: bool

    def as_fields(self) -> dict[str, Any]:
        """Return the fields of the row."""
        return {
            "name": self.name,
            "tips": sorted(set(self.tips)),
            "chain": self.chain,
            "has_sign": self.has_sign,
            "shows_day": self.shows_day,
        }


@transaction.atomic
def add_terminal(merchant: Merchant, mode: Mode, values: TerminalValues, *, actor: Actor, now: datetime) -> Terminal:
    """Add a terminal, not paired yet, and audit it."""
    fields = values.as_fields()
    public_id = new_id(f"ter_{mode}")
    terminal = Terminal.objects.create(
        public_id=public_id, merchant=merchant, mode=mode, created_by=actor.user, created_at=now, **fields
    )
    _audit(terminal, "terminal.added", actor=actor, now=now, after=fields | {"mode": str(mode)})
    return terminal


@transaction.atomic
def change_terminal(terminal: Terminal, values: TerminalValues, *, actor: Actor, now: datetime) -> None:
    """Change a terminal; the same values again are not audited. Raises ConflictError for a revoked one."""
    locked = _locked(terminal)
    fields = values.as_fields()
    before = {name: getattr(locked, name) for name in fields}
    if before == fields:
        return
    for name, value in fields.items():
        setattr(locked, name, value)
    locked.save(update_fields=list(fields))
    _audit(locked, "terminal.changed", actor=actor, now=now, before=before, after=fields)


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
        device=device[:DEVICE_LENGTH],
    )
    if not paired:
        raise PairingError
    terminal = Terminal.objects.select_related("merchant").get(digest=_digest(token))
    actor = Actor(label=f"terminal {terminal.name}", address=address)
    _audit(terminal, "terminal.paired", actor=actor, now=now, after={"name": terminal.name, "device": terminal.device})
    return terminal, token


@transaction.atomic
def revoke_terminal(terminal: Terminal, *, actor: Actor, now: datetime) -> bool:
    """End a terminal for good; return whether this call did it. Its device's next request finds no terminal."""
    locked = Terminal.objects.select_for_update(of=("self",)).select_related("merchant").get(pk=terminal.pk)
    if locked.revoked_at is not None:
        return False
    locked.digest = locked.pair_digest = locked.pair_until = None
    locked.revoked_at = now
    locked.save(update_fields=["digest", "pair_digest", "pair_until", "revoked_at"])
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
