"""What the fence is for: a watcher that slept past its lease must not write what it read before."""

import sys

import pytest

from tests.faults.moments import LAST_QUESTION
from tests.faults.oracle import audit, await_order
from tests.faults.standby import has_taken_over, is_standing_by
from tests.installation import Installation
from tests.nodes.proxy import drops
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

PHANTOM = "recorded and not on chain"


def wakes_with_a_payment_that_is_gone(installation: Installation, first: str, second: str) -> str:
    """Freeze the first watcher with a payment in its hands that a reorganisation then removes, and wake it.

    The second one has read the chain without it by then. No node answers any more, so that nobody can correct what
    the first one writes. Returns when it woke up, as the database tells the time.
    """
    [checkout] = installation.create_checkouts(1)
    with LAST_QUESTION(installation, first) as await_capture:
        installation.pay(checkout)
        await_capture()
        installation.freeze(first)
        installation.nodes["base"].reorg(1)
    installation.end_leases()
    wait_until(lambda: has_taken_over(installation, second))
    await_order(installation)
    for chain in installation.nodes:
        installation.misbehave(drops, chain=chain, urls=2)
    woken_at = installation.database.now()
    installation.thaw(first)
    return woken_at


def has_phantom(installation: Installation) -> bool:
    return any(problem.startswith(PHANTOM) for problem in audit(installation))


def test_a_watcher_that_lost_its_lease_cannot_write_what_it_read(installation: Installation) -> None:
    first, second = installation.the("watcher"), installation.start("watcher")
    wait_until(lambda: is_standing_by(installation, second))
    woken_at = wakes_with_a_payment_that_is_gone(installation, first, second)
    wait_until(lambda: is_standing_by(installation, first, since=woken_at))
    assert not has_phantom(installation)
    installation.behave()
    await_order(installation)


def test_without_the_fence_it_records_money_that_is_not_there(installation: Installation) -> None:
    second = installation.the("watcher")
    first = installation.start("watcher", sys.executable, "-m", "tests.faults.unfenced_watcher")
    wait_until(lambda: is_standing_by(installation, first))
    installation.freeze(second)
    installation.end_leases()
    wait_until(lambda: has_taken_over(installation, first))
    installation.thaw(second)
    wait_until(lambda: is_standing_by(installation, second))
    wakes_with_a_payment_that_is_gone(installation, first, second)
    wait_until(lambda: has_phantom(installation))
    installation.kill(first)
    installation.behave()
    await_order(installation)
