"""What the fence is for on Solana and TON: a watcher that slept past its lease must not write what it read before."""

import sys

import pytest

from tests.faults.accountinstallation import AccountInstallation
from tests.faults.accountmoments import payments_in_hand
from tests.faults.accounttroubles import drops
from tests.faults.oracle import audit, await_order
from tests.faults.standby import has_taken_over, is_standing_by
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

PHANTOM = "recorded and not on chain"


def wakes_with_payments_that_are_gone(accounts: AccountInstallation, first: str, second: str) -> str:
    """Freeze the first watcher with a payment of each chain in its hands that a fork then removes, and wake it.

    The second one has read the chains without them by then. No node answers any more, so that nobody can correct what
    the first one writes. Returns when it woke up, as the database tells the time.
    """
    marks = {name: chain.mark() for name, chain in accounts.nodes.items()}
    # No watcher waits for an answer as long as a busy machine may take to make checkouts.
    checkouts = accounts.create_checkouts(len(marks))
    dues = [accounts.choose(*chosen) for chosen in zip(checkouts, marks, strict=True)]
    with payments_in_hand(accounts, first) as await_capture:
        for due in dues:
            accounts.pay(due)
        await_capture()
        accounts.freeze(first)
        for name, chain in accounts.nodes.items():
            chain.fork(marks[name])
    accounts.end_leases()
    wait_until(lambda: has_taken_over(accounts, second))
    await_order(accounts)
    accounts.misbehave(drops)
    woken_at = accounts.database.now()
    accounts.thaw(first)
    return woken_at


def phantoms(accounts: AccountInstallation) -> int:
    """How many transfers are recorded that no chain has."""
    return sum(problem.startswith(PHANTOM) for problem in audit(accounts))


def test_a_watcher_that_lost_its_lease_cannot_write_what_it_read(accounts: AccountInstallation) -> None:
    first, second = accounts.the("watcher"), accounts.start("watcher")
    wait_until(lambda: is_standing_by(accounts, second))
    woken_at = wakes_with_payments_that_are_gone(accounts, first, second)
    wait_until(lambda: is_standing_by(accounts, first, since=woken_at))
    assert not phantoms(accounts)
    accounts.behave()
    await_order(accounts)


def test_without_the_fence_it_records_money_that_is_not_there(accounts: AccountInstallation) -> None:
    second = accounts.the("watcher")
    first = accounts.start("watcher", sys.executable, "-m", "tests.faults.unfenced_watcher")
    wait_until(lambda: is_standing_by(accounts, first))
    accounts.freeze(second)
    accounts.end_leases()
    wait_until(lambda: has_taken_over(accounts, first))
    accounts.thaw(second)
    wait_until(lambda: is_standing_by(accounts, second))
    wakes_with_payments_that_are_gone(accounts, first, second)
    wait_until(lambda: phantoms(accounts) == len(accounts.chains))
    accounts.kill(first)
    accounts.behave()
    await_order(accounts)
