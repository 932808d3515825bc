"""Solana and TON change their mind while people pay: each transfer counts once if it is there in the end, and else not."""

import pytest

from tests.faults.accountinstallation import AccountInstallation, Sent
from tests.faults.oracle import await_order, settle
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]


def mark(accounts: AccountInstallation) -> dict[str, int]:
    """Remember where the chains are, for `fork`."""
    return {name: chain.mark() for name, chain in accounts.nodes.items()}


def fork(accounts: AccountInstallation, marks: dict[str, int]) -> None:
    """Undo what came since on each chain."""
    for name, chain in accounts.nodes.items():
        chain.fork(marks[name])


def await_states(accounts: AccountInstallation, payments: list[Sent], state: str) -> None:
    """Return once all of these payments' transfers are in a state."""
    wait_until(lambda: accounts.states(payments) == [state] * len(payments))


def await_statuses(accounts: AccountInstallation, payments: list[Sent], status: tuple[str, str]) -> None:
    """Return once all of these payments' checkouts have a status and exception."""
    wait_until(lambda: accounts.statuses(payments) == [status] * len(payments))


@pytest.mark.parametrize("is_credited", [True, False], ids=["credited", "uncredited"])
def test_payments_dropped_and_returned_count_where_they_are_in_the_end(
    accounts: AccountInstallation, is_credited: bool
) -> None:
    worker, marks = accounts.the("worker"), mark(accounts)
    if not is_credited:
        accounts.freeze(worker)
    payments = accounts.pay_new(2)
    dropped, returned = payments[::2], payments[1::2]
    await_states(accounts, payments, "detected")
    seen = ("processing" if is_credited else "pending", "")
    await_statuses(accounts, payments, seen)
    fork(accounts, marks)
    await_states(accounts, payments, "orphaned")
    if not is_credited:
        accounts.thaw(worker)
    await_statuses(accounts, payments, ("pending", ""))
    back = [accounts.pay_again(sent) for sent in returned]
    settle(accounts)
    assert accounts.states(dropped) == ["orphaned"] * 2
    assert accounts.states(back) == ["confirmed"] * 2
    assert accounts.statuses(dropped) == [("pending", "")] * 2
    assert accounts.statuses(returned) == [("completed", "")] * 2


def test_money_that_is_taken_back_after_completion_is_told_and_counts_again_when_it_returns(
    accounts: AccountInstallation,
) -> None:
    marks = mark(accounts)
    on_solana, on_ton = payments = accounts.pay_new()
    await_states(accounts, payments, "detected")
    accounts.finalize()
    await_statuses(accounts, payments, ("completed", ""))
    fork(accounts, marks)
    await_statuses(accounts, payments, ("completed", "reversed"))
    await_order(accounts)
    assert [reasons_of(accounts, one) for one in payments] == [["reversed"]] * 2
    again = accounts.pay_again(on_solana)
    assert again.tx == on_solana.tx
    settle(accounts)
    await_statuses(accounts, [on_solana], ("completed", ""))
    assert accounts.statuses([on_ton]) == [("completed", "reversed")]


def reasons_of(accounts: AccountInstallation, payment: Sent) -> list[str]:
    """Why a payment is in the inbox."""
    rows = accounts.database.rows(
        "SELECT i.reason FROM checkouts_inboxitem i JOIN wallets_transfer t ON t.id = i.transfer_id"
        " WHERE t.chain = %s AND t.tx_hash = %s",
        payment.due.chain,
        payment.tx,
    )
    return [reason for (reason,) in rows]
