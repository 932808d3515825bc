"""Valkey is away, hangs or forgets everything: payments are credited and webhooks delivered all the same."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
import redis

from tests.faults.oracle import settle
from tests.faults.outages import away, hanging
from tests.installation import DOLLAR, Installation
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

QUEUE = "installation:florin"


@pytest.fixture
def client(installation: Installation) -> Iterator[redis.Redis]:
    """The test's own connection to the installation's Valkey."""
    with redis.Redis.from_url(installation.valkey.url) as client:
        yield client


@pytest.mark.parametrize("trouble", [away, hanging])
def test_payments_are_credited_and_told_without_it_and_after_it_is_back(
    installation: Installation, trouble: Callable[[Installation], AbstractContextManager[None]]
) -> None:
    paid, topped_up = installation.create_checkouts(2)
    with trouble(installation):
        installation.pay(paid)
        installation.pay(topped_up, 4 * DOLLAR)
        settle(installation)
    installation.pay(topped_up, 6 * DOLLAR)
    installation.pay_all(installation.create_checkouts(2), chain="polygon")
    settle(installation)


def test_bells_that_are_flushed_away_are_not_missed(installation: Installation, client: redis.Redis) -> None:
    worker = installation.the("worker")
    installation.freeze(worker)
    installation.pay_all(installation.create_checkouts(2))
    wait_until(lambda: client.llen(QUEUE))
    client.flushall()
    installation.thaw(worker)
    settle(installation)


def test_flushing_again_and_again_stops_nothing(installation: Installation, client: redis.Redis) -> None:
    for checkout in installation.create_checkouts(5):
        installation.pay(checkout)
        client.flushall()
        installation.finalize()
        client.flushall()
    settle(installation)
