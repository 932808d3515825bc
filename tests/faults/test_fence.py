"""What the fence is for: a watcher that slept past its lease must not write what it read before."""

import sys
from collections.abc import Callable

import pytest

from tests.faults import accounttroubles
from tests.faults.accountinstallation import AccountInstallation
from tests.faults.accountmoments import payments_in_hand
from tests.faults.moments import LAST_QUESTION
from tests.faults.oracle import audit, await_order, last_words
from tests.faults.standby import has_begun, has_taken_over, is_standing_by
from tests.florin import Florin
from tests.installation import Installation
from tests.nodes import proxy
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

Silence = Callable[[], None]
PHANTOMS = {"installation": 1, "accounts": 2}
"""How many payments the first watcher has in its hands: one on Base, or one on Solana and one on TON."""


def freeze_with_payments_that_a_fork_removes(florin: Florin, watcher: str) -> Silence:
    """Return what makes every node of the installation drop all connections."""
    if isinstance(florin, AccountInstallation):
        return _freeze_on_accounts(florin, watcher)
    assert isinstance(florin, Installation)
    return _freeze_on_blocks(florin, watcher)


def _freeze_on_blocks(installation: Installation, watcher: str) -> Silence:
    [checkout] = installation.create_checkouts(1)
    with LAST_QUESTION(installation, watcher) as await_capture:
        installation.pay(checkout)
        await_capture()
        installation.freeze(watcher)
        installation.nodes["base"].reorg(1)

    def silence() -> None:
        for chain in installation.nodes:
            installation.misbehave(proxy.drops, chain=chain, urls=2)

    return silence


def _freeze_on_accounts(accounts: AccountInstallation, watcher: str) -> Silence:
    marks = {name: chain.mark() for name, chain in accounts.nodes.items()}
    # No watcher waits for an answer as long as a busy machine may take to make checkouts.
    checkouts = accounts.create_checkouts(len(marks))
    dues = [accounts.choose(*chosen) for chosen in zip(checkouts, marks, strict=True)]
    with payments_in_hand(accounts, watcher) as await_capture:
        for due in dues:
            accounts.pay(due)
        await_capture()
        accounts.freeze(watcher)
        for name, chain in accounts.nodes.items():
            chain.fork(marks[name])
    return lambda: accounts.misbehave(accounttroubles.drops)


def wakes_with_payments_that_are_gone(florin: Florin, first: str, second: str) -> str:
    """Freeze the first watcher with payments in its hands that a fork then removes, and wake it.

    The second one has read the chains without them by then. No node answers any more, so that nobody can correct what
    the first one writes. Returns when it woke up, as the database tells the time.
    """
    # On a busy machine the first lease ends before both payments are in hand: the second watcher would record them.
    florin.freeze(second)
    silence = freeze_with_payments_that_a_fork_removes(florin, first)
    florin.thaw(second)
    florin.end_leases()
    wait_until(lambda: has_taken_over(florin, second))
    await_order(florin)
    silence()
    woken_at = florin.database.now()
    florin.thaw(first)
    return woken_at


def phantoms(florin: Florin) -> int:
    """How many transfers are recorded that no chain has."""
    return sum(problem.startswith("recorded and not on chain") for problem in audit(florin))


def await_phantoms(florin: Florin, count: int) -> None:
    """Return once so many are recorded; else fail with what is wrong, and with what the watchers said."""
    try:
        wait_until(lambda: phantoms(florin) == count)
    except AssertionError:
        raise AssertionError("\n".join([*audit(florin), *last_words(florin)])) from None


@pytest.fixture
def florin(kind: str, request: pytest.FixtureRequest) -> Florin:
    """An installation on chains that are read block by block, or account by account."""
    florin: Florin = request.getfixturevalue(kind)
    return florin


@pytest.mark.parametrize("kind", PHANTOMS)
def test_a_watcher_that_lost_its_lease_cannot_write_what_it_read(florin: Florin, kind: str) -> None:
    first, second = florin.the("watcher"), florin.start("watcher")
    wait_until(lambda: has_begun(florin, second))
    # On a busy machine a lease may have ended early, and the second one may have it.
    florin.freeze(second)
    florin.end_leases()
    wait_until(lambda: has_taken_over(florin, first))
    woken_at = wakes_with_payments_that_are_gone(florin, first, second)
    wait_until(lambda: is_standing_by(florin, first, since=woken_at))
    assert not phantoms(florin)
    florin.behave()
    await_order(florin)


@pytest.mark.parametrize("kind", PHANTOMS)
def test_without_the_fence_it_records_money_that_is_not_there(florin: Florin, kind: str) -> None:
    second = florin.the("watcher")
    # Before the first one starts: on a busy machine a lease may end early, and each would have some of them.
    florin.freeze(second)
    first = florin.start("watcher", sys.executable, "-m", "tests.faults.unfenced_watcher")
    florin.end_leases()
    wait_until(lambda: has_taken_over(florin, first))
    florin.thaw(second)
    wait_until(lambda: is_standing_by(florin, second))
    wakes_with_payments_that_are_gone(florin, first, second)
    await_phantoms(florin, PHANTOMS[kind])
    florin.kill(first)
    florin.behave()
    await_order(florin)
