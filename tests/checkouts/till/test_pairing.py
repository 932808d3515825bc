"""A code pairs one device, once, within minutes; the device is known by its token until its terminal is revoked."""

from datetime import timedelta

import pytest

from accounts.audit.actors import SYSTEM
from accounts.models import AuditEntry, Merchant
from checkouts.models import Terminal
from checkouts.till.pairing import (
    CODE_LENGTH,
    PAIRING_LASTS,
    PairingError,
    TerminalValues,
    change_terminal,
    offer_pairing,
    pair,
    plain_code,
    revoke_terminal,
    terminal_of,
)
from gateway.core.api.errors import ConflictError
from tests.checkouts.till.terminals import VALUES, make_terminal
from tests.factories import NOON, make_merchant

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(minutes=5)


@pytest.fixture
def terminal(merchant: Merchant) -> Terminal:
    """A terminal that no device is paired with."""
    return make_terminal(merchant)


def offer(terminal: Terminal) -> str:
    return offer_pairing(terminal, actor=SYSTEM, now=NOON)


def paired(code: str, device: str = "Chrome on Android") -> str:
    """The token of the device that typed the code."""
    return pair(code, device=device, address="192.0.2.7", now=LATER)[1]


def test_the_device_that_types_the_code_is_the_terminals(terminal: Terminal) -> None:
    token = paired(offer(terminal))
    known = terminal_of(token, now=LATER)
    assert known is not None
    assert (known.pk, known.device, known.paired_at) == (terminal.pk, "Chrome on Android", LATER)
    # Neither the code nor the token is stored.
    assert token.encode() not in bytes(known.digest or b"")
    assert known.pair_digest is None


def test_a_code_is_eight_characters_in_two_groups_and_never_the_same(terminal: Terminal) -> None:
    codes = {offer(terminal) for _ in range(20)}
    assert len(codes) == 20
    for code in codes:
        first, second = code.split("-")
        assert len(first) == len(second) == CODE_LENGTH // 2
        assert code == code.upper()


def test_a_code_pairs_one_device_once(terminal: Terminal) -> None:
    code = offer(terminal)
    paired(code)
    with pytest.raises(PairingError):
        paired(code, "Safari on iPhone")


def test_a_code_is_read_as_people_type_it(terminal: Terminal) -> None:
    code = offer(terminal)
    assert plain_code("7h3k o9il") == "7h3k0911"
    assert paired(f"  {code.lower().replace('-', ' ')} ")


@pytest.mark.parametrize("typed", ["", "-", "0000-0000", "x" * 10_000, "7H3K-9QZ2\x00", "'; --"])
def test_what_is_no_code_pairs_nothing(typed: str, terminal: Terminal) -> None:
    offer(terminal)
    with pytest.raises(PairingError):
        paired(typed)


def test_a_code_ends_after_ten_minutes(terminal: Terminal) -> None:
    code = offer(terminal)
    with pytest.raises(PairingError):
        pair(code, device="", address=None, now=NOON + PAIRING_LASTS)


def test_a_new_code_ends_the_one_before(terminal: Terminal) -> None:
    old, new = offer(terminal), offer(terminal)
    with pytest.raises(PairingError):
        paired(old)
    assert paired(new)


def test_another_device_takes_the_place_of_the_first(terminal: Terminal) -> None:
    first = paired(offer(terminal))
    code = offer(terminal)
    # Until then the first one sells.
    assert terminal_of(first, now=LATER)
    second = paired(code)
    assert terminal_of(first, now=LATER) is None
    assert terminal_of(second, now=LATER)


def test_a_revoked_terminal_has_no_device_and_gets_none(terminal: Terminal) -> None:
    token = paired(offer(terminal))
    code = offer(terminal)
    assert revoke_terminal(terminal, actor=SYSTEM, now=LATER)
    assert terminal_of(token, now=LATER) is None
    with pytest.raises(PairingError):
        paired(code)
    with pytest.raises(ConflictError):
        offer(terminal)
    with pytest.raises(ConflictError):
        change_terminal(terminal, VALUES, actor=SYSTEM, now=LATER)
    assert not revoke_terminal(terminal, actor=SYSTEM, now=LATER)


def test_a_closed_merchants_devices_do_nothing(terminal: Terminal) -> None:
    token, code = paired(offer(terminal)), offer(terminal)
    Merchant.objects.update(closed_at=NOON)
    assert terminal_of(token, now=LATER) is None
    with pytest.raises(PairingError):
        paired(code)


@pytest.mark.parametrize("token", ["", "x", "x" * 10_000, "\x00"])
def test_what_is_no_token_is_no_device(token: str, terminal: Terminal) -> None:
    paired(offer(terminal))
    assert terminal_of(token, now=LATER) is None


def test_when_a_device_was_last_seen_is_written_once_a_minute(terminal: Terminal) -> None:
    token = paired(offer(terminal))
    terminal_of(token, now=LATER + timedelta(seconds=50))
    assert Terminal.objects.get().last_seen_at == LATER
    soon = LATER + timedelta(seconds=70)
    terminal_of(token, now=soon)
    assert Terminal.objects.get().last_seen_at == soon


def test_each_act_is_audited_without_a_secret(terminal: Terminal) -> None:
    code = offer(terminal)
    token = paired(code)
    change_terminal(terminal, TerminalValues("Terrace", [10, 5, 5], "base", False, False), actor=SYSTEM, now=LATER)
    revoke_terminal(terminal, actor=SYSTEM, now=LATER)
    entries = AuditEntry.objects.filter(object_id=terminal.public_id).order_by("pk")
    actions = ["added", "pairing_offered", "paired", "changed", "revoked"]
    assert [entry.action for entry in entries] == [f"terminal.{action}" for action in actions]
    written = repr([(entry.before, entry.after) for entry in entries])
    assert token not in written
    assert plain_code(code) not in written.lower()
    assert entries[3].after == {
        "name": "Terrace",
        "currency": "USD",
        "tips": [5, 10],
        "chain": "base",
        "chains": [],
        "has_sign": False,
        "shows_day": False,
    }


def test_the_same_values_again_are_not_audited(terminal: Terminal) -> None:
    change_terminal(terminal, VALUES, actor=SYSTEM, now=LATER)
    assert not AuditEntry.objects.filter(action="terminal.changed").exists()


def test_a_terminal_belongs_to_its_merchant_alone() -> None:
    mine, others = make_terminal(make_merchant()), make_terminal(make_merchant())
    token = paired(offer(mine))
    known = terminal_of(token, now=LATER)
    assert known is not None
    assert known.merchant_id == mine.merchant_id != others.merchant_id
