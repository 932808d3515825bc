"""What the fence is for: a watcher that slept past its lease must not write what it read before."""

import sys
from collections.abc import Callable

import pytest

from tests.faults import accounttroubles
from tests.faults.accountinstallation import AccountInstallation
from tests.faults.fencegate import held_at_the_fence
from tests.faults.oracle import audit, await_order, await_that
from tests.faults.standby import has_read_since, has_taken_over, is_standing_by
from tests.florin import Florin
from tests.installation import Installation
from tests.nodes import proxy

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
    with held_at_the_fence(installation, watcher, lambda: installation.pay(checkout)):
        installation.freeze(watcher)
        installation.nodes["base"].reorg(1)

    def silence() -> None:
        for chain in installation.nodes:
            installation.misbehave(proxy.drops, chain=chain, urls=2)

    return silence


def _freeze_on_accounts(accounts: AccountInstallation, watcher: str) -> Silence:
    marks = {name: chain.mark() for name, chain in accounts.nodes.items()}
    # No watcher waits at the gate as long as a busy machine may take to make checkouts.
    checkouts = accounts.create_checkouts(len(marks))
    dues = [accounts.choose(*chosen) for chosen in zip(checkouts, marks, strict=True)]
    with held_at_the_fence(accounts, watcher, lambda: [accounts.pay(due) for due in dues]):
        accounts.freeze(watcher)
        for name, chain in accounts.nodes.items():
            chain.fork(marks[name])
    return lambda: accounts.misbehave(accounttroubles.drops)


def wakes_with_payments_that_are_gone(florin: Florin, *argv: str) -> tuple[str, str]:
    """Freeze a watcher with payments in its hands that a fork then removes, and wake it.

    Another one has read the chains without them by then. No node answers any more, so that nobody can correct what the
    first one writes. Returns its name, and when it woke up, as the database tells the time.
    """
    second = florin.the("watcher")
    # Before the first one starts: on a busy machine a lease may end early, and each would have some of them.
    florin.freeze(second)
    first = florin.start("watcher", sys.executable, "-m", "tests.faults.gated_watcher", *argv)
    florin.end_leases()
    await_that(florin, lambda: has_taken_over(florin, first))
    silence = freeze_with_payments_that_a_fork_removes(florin, first)
    florin.thaw(second)
    florin.end_leases()
    await_that(florin, lambda: has_taken_over(florin, second))
    taken_over_at = florin.database.now()
    # Or it would read the fork's block after the first one wrote its payment there, and never look back.
    await_that(florin, lambda: has_read_since(florin, taken_over_at))
    await_order(florin)
    silence()
    woken_at = florin.database.now()
    florin.thaw(first)
    return first, woken_at


def phantoms(florin: Florin) -> int:
    """How many transfers are recorded that no chain has."""
    return sum(problem.startswith("recorded and not on chain") for problem in audit(florin))


@pytest.fixture
def florin(kind: str, request: pytest.FixtureRequest) -> Florin:
    """An installation on chains that are read block by block, or account by account."""
    florin: Florin = request.getfixturevalue(kind)
    return florin


@pytest.mark.parametrize("kind", PHANTOMS)
def test_a_watcher_that_lost_its_lease_cannot_write_what_it_read(florin: Florin, kind: str) -> None:
    first, woken_at = wakes_with_payments_that_are_gone(florin)
    await_that(florin, lambda: is_standing_by(florin, first, since=woken_at))
    assert not phantoms(florin)
    florin.behave()
    await_order(florin)


@pytest.mark.parametrize("kind", PHANTOMS)
def test_without_the_fence_it_records_money_that_is_not_there(florin: Florin, kind: str) -> None:
    first, _ = wakes_with_payments_that_are_gone(florin, "unfenced")
    await_that(florin, lambda: phantoms(florin) == PHANTOMS[kind])
    florin.kill(first)
    florin.behave()
    await_order(florin)
