"""Whatever a watcher is doing when it is killed or frozen, another one takes over and every transfer counts once."""

import random
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from localnet.funding import payer
from localnet.tokens import token_address, transfer_many
from tests.exhaustive import EXHAUSTIVE, sample
from tests.faults import accountmoments
from tests.faults.accountinstallation import AccountInstallation
from tests.faults.moments import answering, writing
from tests.faults.oracle import await_order, settle
from tests.faults.standby import has_taken_over, is_standing_by
from tests.florin import Florin
from tests.installation import DOLLAR, Installation
from tests.waiting import wait_until
from wallets.watchers.leases import LONGEST_LEASE_SECONDS

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

# Chains that are read block by block, and account by account.
MOMENTS: dict[str, dict[str, Any]] = {
    "installation": {
        "asking for the head": answering("eth_getBlockByNumber"),
        "asking for logs": answering("eth_getLogs"),
        "asking for receipts": answering("eth_getTransactionReceipt"),
        "about to commit": writing("wallets_block"),
    },
    "accounts": accountmoments.MOMENTS,
}
KILLS = 4 if EXHAUSTIVE else 2
MOST_REQUESTS = 12


def moments(few: int) -> list[Any]:
    """So many moments of each kind of watcher."""
    return [
        pytest.param(kind, name, id=f"{kind}-{name}")
        for kind, named in MOMENTS.items()
        for name in sample([*named], few)
    ]


@dataclass(frozen=True)
class Pair:
    """Two watchers of an installation: one at work, and one that waits for its leases."""

    florin: Florin
    first: str
    second: str


@pytest.fixture
def pair(kind: str, request: pytest.FixtureRequest) -> Pair:
    """A second watcher beside the first."""
    florin: Florin = request.getfixturevalue(kind)
    pair = Pair(florin, florin.the("watcher"), florin.start("watcher"))
    wait_until(lambda: is_standing_by(florin, pair.second))
    assert has_taken_over(florin, pair.first)
    return pair


def pay_at_random(florin: Florin, choice: random.Random) -> None:
    """Pay in full, too much, short and twice."""
    if isinstance(florin, AccountInstallation):
        _pay_accounts(florin, choice)
    elif isinstance(florin, Installation):
        _pay_addresses(florin, choice)


def _pay_addresses(installation: Installation, choice: random.Random) -> None:
    """Some checkouts in one transaction, and some each in its own."""
    checkouts = installation.create_checkouts(choice.randint(3, 6))
    node = installation.nodes["base"]
    batch = [(checkout.address, choice.choice([4, 10, 11]) * DOLLAR) for checkout in choice.choices(checkouts, k=4)]
    transfer_many(node, payer(node), token_address("USDC"), batch)
    for checkout in choice.sample(checkouts, 2):
        installation.pay(checkout, choice.choice([3, 10]) * DOLLAR)


def _pay_accounts(accounts: AccountInstallation, choice: random.Random) -> None:
    """By what a link says or by the amount alone, on each chain."""
    for chain in accounts.chains:
        for public_id in accounts.create_checkouts(2):
            due = accounts.choose(public_id, chain)
            for less in choice.choices([0, 0, -DOLLAR, 6 * DOLLAR], k=choice.randint(1, 2)):
                # Digits below a cent name nobody for sure: those of a paid checkout may be another's, who asks for the rest of a price.
                accounts.pay(due, less=less, labelled=less > 0 or choice.random() < 0.5)


@pytest.mark.parametrize(("kind", "moment"), moments(2))
def test_a_watcher_killed_in_the_middle_is_replaced(pair: Pair, kind: str, moment: str) -> None:
    florin, trap = pair.florin, MOMENTS[kind][moment]
    with trap(florin, pair.first) as await_capture:
        pay_at_random(florin, random.Random(moment))
        await_capture()
        florin.kill(pair.first)
    florin.end_leases()
    wait_until(lambda: has_taken_over(florin, pair.second))
    settle(florin)


@pytest.mark.parametrize(("kind", "moment"), moments(3))
def test_a_frozen_watcher_that_wakes_up_after_its_lease_changes_nothing(pair: Pair, kind: str, moment: str) -> None:
    florin, trap = pair.florin, MOMENTS[kind][moment]
    with trap(florin, pair.first) as await_capture:
        pay_at_random(florin, random.Random(f"{moment}, frozen"))
        await_capture()
        florin.freeze(pair.first)
    florin.end_leases()
    wait_until(lambda: has_taken_over(florin, pair.second))
    settle(florin)
    woken_at = florin.database.now()
    florin.thaw(pair.first)
    wait_until(lambda: is_standing_by(florin, pair.first, since=woken_at))
    await_order(florin, seconds=5)


@pytest.mark.parametrize("kind", ["installation"])
def test_the_leases_of_a_dead_watcher_end_by_themselves(pair: Pair, installation: Installation) -> None:
    installation.kill(pair.first)
    installation.pay_all(installation.create_checkouts(2))
    # A lease is as long as two of the passes before it, which a busy machine makes longer.
    wait_until(lambda: has_taken_over(installation, pair.second), seconds=LONGEST_LEASE_SECONDS + 5)
    settle(installation)


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("kind", ["accounts"])
def test_watchers_killed_at_any_moment_of_a_stream_of_payments_lose_and_double_none(
    accounts: AccountInstallation,
) -> None:
    choice = random.Random(9)
    for _ in range(KILLS):
        accounts.pay_new()
        enough = accounts.asked() + choice.randint(1, MOST_REQUESTS)
        wait_until(partial(_has_been_asked, accounts, enough))
        accounts.kill(accounts.watcher_of("solana"))
        accounts.pay_new()
        accounts.start("watcher")
        accounts.end_leases()
        wait_until(lambda: all(accounts.watcher_of(chain) for chain in accounts.chains))
    settle(accounts)


def _has_been_asked(accounts: AccountInstallation, requests: int) -> bool:
    """Whether the nodes got as many requests."""
    return accounts.asked() >= requests


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("kind", ["accounts"])
def test_two_watchers_that_take_the_leases_from_each_other_write_nothing_twice(accounts: AccountInstallation) -> None:
    for _ in range(6):
        accounts.pay_new()
        accounts.end_leases()
    settle(accounts)
