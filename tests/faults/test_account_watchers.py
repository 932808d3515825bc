"""Solana and TON: whatever a watcher does when it is killed or frozen, another one goes on and every transfer counts once."""

import random
from dataclasses import dataclass
from functools import partial

import pytest

from tests.exhaustive import EXHAUSTIVE, sample
from tests.faults.accountinstallation import AccountInstallation, Sent
from tests.faults.accountmoments import MOMENTS, Moment
from tests.faults.oracle import await_order, settle
from tests.faults.standby import has_taken_over, is_standing_by
from tests.installation import DOLLAR
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

KILLS = 4 if EXHAUSTIVE else 2
MOST_REQUESTS = 12


@dataclass(frozen=True)
class Pair:
    """Two watchers of an installation: one at work, and one that waits for its leases."""

    first: str
    second: str


@pytest.fixture
def pair(accounts: AccountInstallation) -> Pair:
    """A second watcher beside the first."""
    pair = Pair(accounts.the("watcher"), accounts.start("watcher"))
    wait_until(lambda: is_standing_by(accounts, pair.second))
    assert has_taken_over(accounts, pair.first)
    return pair


def pay_at_random(accounts: AccountInstallation, choice: random.Random) -> list[Sent]:
    """Pay on each chain: in full, too much, short, and twice; by what a link says or by the amount alone."""
    sent = []
    for chain in accounts.chains:
        for public_id in accounts.create_checkouts(2):
            due = accounts.choose(public_id, chain)
            for less in choice.choices([0, 0, -DOLLAR, 6 * DOLLAR], k=choice.randint(1, 2)):
                is_labelled = choice.random() < 0.5
                sent.append(accounts.pay(due, less=less, labelled=is_labelled))
    return sent


@pytest.mark.parametrize(
    ("moment", "seed"), sample([*zip(MOMENTS.values(), [1, 2, 3, 4], strict=True)], 2), ids=sample([*MOMENTS], 2)
)
def test_a_watcher_killed_in_the_middle_is_replaced(
    accounts: AccountInstallation, pair: Pair, moment: Moment, seed: int
) -> None:
    with moment(accounts, pair.first) as await_capture:
        pay_at_random(accounts, random.Random(seed))
        await_capture()
        accounts.kill(pair.first)
    accounts.end_leases()
    wait_until(lambda: has_taken_over(accounts, pair.second))
    settle(accounts)


@pytest.mark.parametrize(
    ("moment", "seed"), sample([*zip(MOMENTS.values(), [5, 6, 7, 8], strict=True)], 3), ids=sample([*MOMENTS], 3)
)
def test_a_frozen_watcher_that_wakes_up_after_its_lease_changes_nothing(
    accounts: AccountInstallation, pair: Pair, moment: Moment, seed: int
) -> None:
    with moment(accounts, pair.first) as await_capture:
        pay_at_random(accounts, random.Random(seed))
        await_capture()
        accounts.freeze(pair.first)
    accounts.end_leases()
    wait_until(lambda: has_taken_over(accounts, pair.second))
    settle(accounts)
    woken_at = accounts.database.now()
    accounts.thaw(pair.first)
    wait_until(lambda: is_standing_by(accounts, pair.first, since=woken_at))
    await_order(accounts, seconds=5)


@pytest.mark.usefixtures("pair")
def test_watchers_killed_at_any_moment_of_a_stream_of_payments_lose_and_double_none(
    accounts: AccountInstallation,
) -> None:
    choice = random.Random(9)
    for _ in range(KILLS):
        accounts.pay_new()
        enough = accounts.asked() + choice.randint(1, MOST_REQUESTS)
        wait_until(partial(has_been_asked, accounts, enough))
        accounts.kill(accounts.watcher_of("solana"))
        accounts.pay_new()
        accounts.start("watcher")
        accounts.end_leases()
        wait_until(partial(are_all_read, accounts))
    settle(accounts)


def has_been_asked(accounts: AccountInstallation, requests: int) -> bool:
    """Whether the nodes got as many requests."""
    return accounts.asked() >= requests


def are_all_read(accounts: AccountInstallation) -> bool:
    """Whether every chain has a watcher that lives."""
    return all(accounts.watcher_of(chain) for chain in accounts.chains)


@pytest.mark.usefixtures("pair")
def test_two_watchers_that_take_the_leases_from_each_other_write_nothing_twice(accounts: AccountInstallation) -> None:
    for _ in range(6):
        accounts.pay_new()
        accounts.end_leases()
    settle(accounts)
