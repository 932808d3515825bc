"""Owners and the sweep who meet over the same change of a receiving wallet."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection

from accounts.audit.actors import Actor
from accounts.models import Merchant, User
from gateway.core.api.errors import ConflictError
from tests.concurrency.races import SECONDS, behind, crew, holding, together, wait_for_waiters
from tests.concurrency.test_inbox import no_lock_on
from tests.dashboard.people import make_member
from tests.factories import NOON, WALLET, make_merchant, make_wallet
from wallets.models import ReceivingWallet, WalletChange
from wallets.receiving.changes import apply_wallet_changes, cancel_change, request_wallet

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
THIRD = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
DUE = NOON + timedelta(hours=24)
LOCK_MERCHANT = "SELECT FROM accounts_merchant WHERE id = %s FOR NO KEY UPDATE"
LOCK_WALLET = "SELECT FROM wallets_receivingwallet WHERE id = %s FOR UPDATE"
NO_NEW_CHANGES = "LOCK TABLE wallets_walletchange IN SHARE MODE"


def ask(merchant: Merchant, actor: User, address: str) -> str:
    """Ask for a wallet; what came of it."""
    try:
        answer = request_wallet(merchant, chain="base", address=address, actor=Actor(actor), now=NOON)
    except ConflictError as error:
        return error.message
    return "waits" if isinstance(answer, WalletChange) else "set"


def waiting_change() -> tuple[WalletChange, ReceivingWallet]:
    """A change that is due, and the wallet it is to replace."""
    merchant = make_merchant()
    wallet = make_wallet(merchant)
    assert ask(merchant, make_member(merchant), OTHER) == "waits"
    return WalletChange.objects.get(merchant=merchant), wallet


def apply_all() -> int:
    return apply_wallet_changes(now=DUE)


def cancel(change: WalletChange, actor: User) -> str:
    """Cancel; what came of it."""
    try:
        cancel_change(change, actor=Actor(actor), now=DUE)
    except ConflictError as error:
        return error.message
    return "cancelled"


def present(change: WalletChange) -> str:
    return change.merchant.receiving_wallets.get(retired_at=None).address


@pytest.fixture
def removed() -> Iterator[Callable[[str], None]]:
    """Take constraints of the changes away until the test ends."""
    by_name = {c.name: c for c in WalletChange._meta.constraints}
    gone: list[str] = []

    def remove(name: str) -> None:
        with connection.schema_editor() as editor:
            editor.remove_constraint(WalletChange, by_name[name])
        gone.append(name)

    yield remove
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE wallets_walletchange")
    for name in gone:
        with connection.schema_editor() as editor:
            editor.add_constraint(WalletChange, by_name[name])


def test_who_cancels_what_is_being_applied_is_too_late() -> None:
    change, wallet = waiting_change()
    applying, cancelling = behind(
        LOCK_WALLET, wallet.pk, works=[apply_all, partial(cancel, change, change.requested_by)]
    )
    assert applying == 1
    assert "does not wait any more" in cancelling
    change.refresh_from_db()
    assert (change.applied_at, change.cancelled_at) == (DUE, None)
    assert present(change) == OTHER


def test_what_is_being_cancelled_is_not_applied() -> None:
    change, _ = waiting_change()
    cancelling, applying = behind(
        LOCK_MERCHANT, change.merchant_id, works=[partial(cancel, change, change.requested_by), apply_all]
    )
    assert cancelling == "cancelled"
    assert applying == 0
    assert present(change) == WALLET


def test_of_many_who_cancel_and_apply_at_once_exactly_one_wins() -> None:
    for _ in range(4):
        change, _ = waiting_change()
        people = [make_member(change.merchant) for _ in range(3)]
        cancelling = [partial(cancel, change, person) for person in people]
        came = together(apply_all, apply_all, *cancelling)
        assert came.count(1) + came.count("cancelled") == 1
        assert present(change) == (OTHER if 1 in came else WALLET)


def cancel_while_it_is_applied() -> tuple[int, str, WalletChange]:
    change, wallet = waiting_change()
    with crew() as threads:
        with holding(LOCK_WALLET, wallet.pk):
            applying = threads.start(apply_all)
            wait_for_waiters(1)
            cancelling = threads.start(partial(cancel, change, change.requested_by))
            cancelled = cancelling.result(SECONDS)
        return applying.result(SECONDS), cancelled, change


def test_without_the_merchants_lock_the_table_still_refuses_both(monkeypatch: pytest.MonkeyPatch) -> None:
    no_lock_on(monkeypatch, Merchant)
    applied, cancelled, change = cancel_while_it_is_applied()
    assert (applied, cancelled) == (0, "cancelled")
    assert present(change) == WALLET


def test_without_lock_and_constraint_money_goes_where_it_was_cancelled(
    monkeypatch: pytest.MonkeyPatch, removed: Callable[[str], None]
) -> None:
    """The negative control of the tests above."""
    no_lock_on(monkeypatch, Merchant)
    removed("wallet_change_ends_once")
    applied, cancelled, change = cancel_while_it_is_applied()
    assert (applied, cancelled) == (1, "cancelled")
    assert present(change) == OTHER


def two_ask(statement: str, *parameters: Any) -> list[str]:
    """Two owners ask for two wallets on two connections, at the moment when a third lets go; what came of it."""
    merchant = make_merchant()
    make_wallet(merchant)
    asks = [partial(ask, merchant, make_member(merchant), address) for address in (OTHER, THIRD)]
    return sorted(behind(statement, *(parameters or ()), works=asks))


def test_of_two_who_ask_at_once_the_second_is_told_that_one_waits() -> None:
    told, first = two_ask("LOCK TABLE accounts_merchant IN EXCLUSIVE MODE")
    assert first == "waits"
    assert "waits on this chain already" in told
    assert WalletChange.objects.count() == 1


def test_without_the_merchants_lock_the_key_still_lets_one_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    no_lock_on(monkeypatch, Merchant)
    told, first = two_ask(NO_NEW_CHANGES)
    assert first == "waits"
    assert "waits on this chain already" in told


def test_without_lock_and_key_two_changes_would_wait(
    monkeypatch: pytest.MonkeyPatch, removed: Callable[[str], None]
) -> None:
    """The negative control of the two tests above."""
    no_lock_on(monkeypatch, Merchant)
    removed("wallet_change_open_once")
    assert two_ask(NO_NEW_CHANGES) == ["waits", "waits"]


def test_of_two_first_wallets_at_once_one_is_set_and_the_other_waits() -> None:
    merchant = make_merchant()
    asks = [partial(ask, merchant, make_member(merchant), address) for address in (OTHER, THIRD)]
    with crew() as threads:
        assert sorted(threads.together(*asks)) == ["set", "waits"]
