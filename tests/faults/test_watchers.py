"""Whatever a watcher is doing when it is killed or frozen, another one takes over and every transfer counts once."""

import random
from dataclasses import dataclass

import pytest

from demo.localnet.funding import payer
from demo.localnet.tokens import token_address, transfer_many
from tests.exhaustive import sample
from tests.faults.moments import Moment, answering, writing
from tests.faults.oracle import await_order, settle
from tests.faults.standby import has_taken_over, is_standing_by
from tests.installation import DOLLAR, Installation, OpenCheckout
from tests.waiting import wait_until
from wallets.watchers.leases import LONGEST_LEASE_SECONDS

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

MOMENTS = {
    "asking for the head": answering("eth_getBlockByNumber"),
    "asking for logs": answering("eth_getLogs"),
    "asking for receipts": answering("eth_getTransactionReceipt"),
    "about to commit": writing("wallets_block"),
}


@dataclass(frozen=True)
class Pair:
    """Two watchers of an installation: one at work, and one that waits for its leases."""

    first: str
    second: str


@pytest.fixture
def pair(installation: Installation) -> Pair:
    """A second watcher beside the first."""
    pair = Pair(installation.the("watcher"), installation.start("watcher"))
    wait_until(lambda: is_standing_by(installation, pair.second))
    assert has_taken_over(installation, pair.first)
    return pair


def pay_at_random(installation: Installation, seed: int) -> list[OpenCheckout]:
    """Pay some checkouts in one transaction and some each in its own, in full, in parts or short."""
    choice = random.Random(seed)
    checkouts = installation.create_checkouts(choice.randint(3, 6))
    node = installation.nodes["base"]
    batch = [(checkout.address, choice.choice([4, 10, 11]) * DOLLAR) for checkout in choice.choices(checkouts, k=4)]
    transfer_many(node, payer(node), token_address("USDC"), batch)
    for checkout in choice.sample(checkouts, 2):
        installation.pay(checkout, choice.choice([3, 10]) * DOLLAR)
    return checkouts


@pytest.mark.parametrize(
    ("moment", "seed"), sample([*zip(MOMENTS.values(), [1, 2, 3, 4], strict=True)], 2), ids=sample([*MOMENTS], 2)
)
def test_a_watcher_killed_in_the_middle_is_replaced(
    installation: Installation, pair: Pair, moment: Moment, seed: int
) -> None:
    with moment(installation, pair.first) as await_capture:
        pay_at_random(installation, seed)
        await_capture()
        installation.kill(pair.first)
    installation.end_leases()
    wait_until(lambda: has_taken_over(installation, pair.second))
    settle(installation)


@pytest.mark.parametrize(
    ("moment", "seed"), sample([*zip(MOMENTS.values(), [5, 6, 7, 8], strict=True)], 3), ids=sample([*MOMENTS], 3)
)
def test_a_frozen_watcher_that_wakes_up_after_its_lease_changes_nothing(
    installation: Installation, pair: Pair, moment: Moment, seed: int
) -> None:
    with moment(installation, pair.first) as await_capture:
        pay_at_random(installation, seed)
        await_capture()
        installation.freeze(pair.first)
    installation.end_leases()
    wait_until(lambda: has_taken_over(installation, pair.second))
    settle(installation)
    woken_at = installation.database.now()
    installation.thaw(pair.first)
    wait_until(lambda: is_standing_by(installation, pair.first, since=woken_at))
    await_order(installation, seconds=5)


def test_the_leases_of_a_dead_watcher_end_by_themselves(installation: Installation, pair: Pair) -> None:
    installation.kill(pair.first)
    installation.pay_all(installation.create_checkouts(2))
    # A lease is as long as two of the passes before it, which a busy machine makes longer.
    wait_until(lambda: has_taken_over(installation, pair.second), seconds=LONGEST_LEASE_SECONDS + 5)
    settle(installation)
