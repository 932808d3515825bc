"""Changes of receiving wallets: who is told, how long they wait, and how they end."""

import re
import socket
import time
from datetime import timedelta
from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Membership, Merchant
from accounts.states import Role
from gateway.core.api.errors import ConflictError, InvalidRequestError
from mails.models import OutgoingMail
from tests.dashboard.people import make_member
from tests.factories import NOON, WALLET, make_merchant, make_wallet
from tests.wallets.wallet_changes import DUE, OTHER, ask, ask_for_change, make_owned_merchant, new_address
from wallets.chains.family import AccountKind
from wallets.chains.ton.family import TON_FAMILY
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import shown_address
from wallets.receiving.changes import apply_wallet_changes, cancel_change
from wallets.receiving.inspection import InspectionRound, in_turn
from wallets.receiving.mails import tell_failed, tell_first, tell_machine_wallet, tell_taken_over
from wallets.receiving.service import set_receiving_wallet

pytestmark = pytest.mark.django_db


@pytest.fixture
def merchant() -> Merchant:
    return make_owned_merchant()


THIRD = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"


def present(merchant: Merchant, chain: str = "ethereum") -> str:
    wallets = merchant.receiving_wallets.filter(chain=chain, retired_at=None)
    return wallets.get().address


def mailed(what: str) -> set[str]:
    return set(OutgoingMail.objects.filter(key__contains=f":{what}:").values_list("recipient", flat=True))


def owners(merchant: Merchant) -> set[str]:
    seats = Membership.objects.filter(merchant=merchant, role=Role.OWNER)
    return set(seats.values_list("user__email", flat=True))


def test_the_first_wallet_of_a_chain_is_there_at_once_and_the_owners_are_told(merchant: Merchant) -> None:
    assert isinstance(ask(merchant, chain="base"), ReceivingWallet)
    assert present(merchant, "base") == OTHER
    assert mailed("first") == owners(merchant)
    entry = AuditEntry.objects.get(action="receiving_wallet.set")
    assert entry.address == "203.0.113.9"


def test_another_wallet_waits_and_the_owners_are_told_twice(merchant: Merchant) -> None:
    change = ask_for_change(merchant)
    assert change.effective_at == DUE
    assert mailed("requested") == owners(merchant)
    assert apply_wallet_changes(now=DUE - timedelta(microseconds=1)) == 0
    assert present(merchant) == WALLET
    assert apply_wallet_changes(now=DUE) == 1
    assert present(merchant) == OTHER
    assert mailed("applied") == owners(merchant)
    assert apply_wallet_changes(now=DUE) == 0


def test_a_request_is_audited_with_before_after_and_where_it_came_from(merchant: Merchant) -> None:
    change = ask_for_change(merchant)
    entry = AuditEntry.objects.get(action="receiving_wallet.change_requested")
    assert entry.actor == change.requested_by
    assert entry.address == "203.0.113.9"
    assert entry.before == {"address": WALLET}
    assert entry.after == {"address": OTHER, "effective_at": DUE.isoformat()}


def test_any_owner_cancels_what_waits_and_nothing_else(merchant: Merchant) -> None:
    change = ask_for_change(merchant)
    second = merchant.memberships.filter(role=Role.OWNER).order_by("pk")[1].user
    cancel_change(change, actor=Actor(second), now=NOON)
    assert apply_wallet_changes(now=DUE) == 0
    assert present(merchant) == WALLET
    with pytest.raises(ConflictError):
        cancel_change(change, actor=Actor(second), now=NOON)
    entry = AuditEntry.objects.get(action="receiving_wallet.change_cancelled")
    assert entry.actor == second


def test_an_applied_change_cannot_be_cancelled(merchant: Merchant) -> None:
    change = ask_for_change(merchant)
    apply_wallet_changes(now=DUE)
    with pytest.raises(ConflictError):
        cancel_change(change, actor=Actor(change.requested_by), now=DUE)


def test_one_change_waits_on_a_chain_at_a_time(merchant: Merchant) -> None:
    change = ask_for_change(merchant)
    with pytest.raises(ConflictError):
        ask(merchant, THIRD)
    cancel_change(change, actor=Actor(change.requested_by), now=NOON)
    assert isinstance(ask(merchant, THIRD), WalletChange)


def test_the_present_wallet_is_no_change(merchant: Merchant) -> None:
    with pytest.raises(ConflictError):
        ask(merchant, WALLET)


@pytest.mark.parametrize("address", ["0x12", "0x" + "0" * 40, OTHER.lower() + "0"])
def test_an_address_that_would_lose_money_never_waits(merchant: Merchant, address: str) -> None:
    with pytest.raises(InvalidRequestError):
        ask(merchant, address)
    assert not WalletChange.objects.exists()


def test_another_merchants_address_never_waits(merchant: Merchant) -> None:
    make_wallet(make_merchant(), "ethereum", OTHER)
    with pytest.raises(ConflictError):
        ask(merchant)
    assert not WalletChange.objects.exists()


def test_what_became_another_merchants_meanwhile_is_refused_and_told(merchant: Merchant) -> None:
    change = ask_for_change(merchant)
    make_wallet(make_merchant(), "ethereum", OTHER)
    assert apply_wallet_changes(now=DUE) == 0
    change.refresh_from_db()
    assert change.failed_at == DUE
    assert "Prove that you hold" in change.failure
    assert present(merchant) == WALLET
    assert mailed("failed") == owners(merchant)
    assert AuditEntry.objects.filter(action="receiving_wallet.change_failed").exists()


def test_what_somebody_asked_for_who_is_no_owner_any_more_is_refused(merchant: Merchant) -> None:
    change = ask_for_change(merchant)
    Membership.objects.filter(user=change.requested_by).update(role=Role.VIEWER)
    assert apply_wallet_changes(now=DUE) == 0
    change.refresh_from_db()
    assert "not an owner" in change.failure
    assert present(merchant) == WALLET


@pytest.mark.parametrize("kind", [kind for kind in AccountKind if not kind.is_wallet])
def test_a_due_address_ends_a_change_only_if_it_surely_loses_the_money(
    merchant: Merchant, settings: Any, monkeypatch: pytest.MonkeyPatch, kind: AccountKind
) -> None:
    change = ask_for_change(merchant)
    settings.CHAIN_SETTINGS = {"ETHEREUM_RPC_URLS": "http://127.0.0.1:1"}
    monkeypatch.setattr(InspectionRound, "_ask", lambda *_: [kind])
    assert apply_wallet_changes(now=DUE) == 0
    change.refresh_from_db()
    waits = kind in {AccountKind.CONTRACT, AccountKind.EMPTY, AccountKind.FROZEN}
    assert (change.failed_at is None) == waits
    monkeypatch.setattr(InspectionRound, "_ask", lambda *_: [AccountKind.CONTRACT_WALLET])
    assert apply_wallet_changes(now=DUE) == waits


@pytest.mark.parametrize(
    ("told", "hours", "ends"),
    [
        ([AccountKind.TOKEN, AccountKind.WALLET], 23, False),
        ([AccountKind.TOKEN, AccountKind.WALLET], 24, True),
        ([AccountKind.CONTRACT], 23, False),
        ([AccountKind.CONTRACT], 24, True),
        ([AccountKind.TOKEN, AccountKind.TOKEN], 0, True),
    ],
)
def test_a_due_address_in_doubt_waits_a_day_and_then_its_owners_are_told(
    merchant: Merchant, settings: Any, monkeypatch: pytest.MonkeyPatch, told: list[AccountKind], hours: int, ends: bool
) -> None:
    ask_for_change(merchant)
    settings.CHAIN_SETTINGS = {"ETHEREUM_RPC_URLS": "http://127.0.0.1:1"}
    monkeypatch.setattr(InspectionRound, "_ask", lambda *_: told)
    assert apply_wallet_changes(now=DUE + timedelta(hours=hours)) == 0
    assert mailed("failed") == (owners(merchant) if ends else set())


def test_many_due_changes_of_silent_chains_take_no_longer_than_a_round(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silent chain is asked once; before, each change waited for it, and the task was ended after a minute."""
    monkeypatch.setattr("wallets.receiving.inspection._SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for _ in range(12):
            ask_for_change(make_owned_merchant(new_address()), new_address())
        settings.CHAIN_SETTINGS = {f"{chain}_RPC_URLS": url for chain in ("ETHEREUM", "BASE")}
        began = time.monotonic()
        assert apply_wallet_changes(now=DUE) == 0
        assert time.monotonic() - began < 3
    assert WalletChange.objects.filter(WalletChange.OPEN).count() == 12


def test_what_uses_up_a_round_is_not_first_in_the_next() -> None:
    assert [in_turn("abc", now=NOON + timedelta(minutes=each))[0] for each in range(3)] != ["a"] * 3
    assert {in_turn("abc", now=NOON + timedelta(minutes=each))[0] for each in range(3)} == set("abc")
    assert in_turn([], now=NOON) == []


def test_without_a_wait_a_change_takes_effect_at_once(merchant: Merchant) -> None:
    merchant.wallet_change_hours = 0
    merchant.save()
    change = ask_for_change(merchant)
    assert change.applied_at == NOON
    assert present(merchant) == OTHER
    assert mailed("requested") == mailed("applied") == owners(merchant)


def test_one_that_breaks_does_not_stop_the_others(merchant: Merchant) -> None:
    broken = ask_for_change(merchant)
    WalletChange.objects.filter(pk=broken.pk).update(chain="gone")
    other = make_merchant()
    make_member(other)
    set_receiving_wallet(other, chain="base", address=WALLET, now=NOON)
    ask(other, THIRD, "base")
    assert apply_wallet_changes(now=DUE) == 1
    assert present(other, "base") == THIRD


TON = "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP"


OTHER_TON = TON_FAMILY.canonical_address("0:" + "1f" * 32)


def test_letters_write_ton_addresses_as_buyers_read_them(teamed_merchant: Merchant) -> None:
    wallet = make_wallet(teamed_merchant, "ton", TON)
    change = ask(teamed_merchant, OTHER_TON, "ton")
    assert isinstance(change, WalletChange)
    apply_wallet_changes(now=DUE)
    change.failure = "It was refused."
    tell_failed(change, now=DUE)
    tell_first(wallet, actor=Actor(change.requested_by), now=DUE)
    tell_taken_over(wallet, now=DUE)
    tell_machine_wallet(wallet, actor=Actor(change.requested_by), before=OTHER_TON, now=DUE)
    recipient = change.requested_by.email
    letters = OutgoingMail.objects.filter(recipient=recipient).order_by("pk")
    old, new = shown_address(TON), shown_address(OTHER_TON)
    named = [re.findall(r"[EU]Q[\w-]{46}", letter.text) for letter in letters]
    assert named == [[old, new], [new], [new], [old], [old], [old, new]]
