"""When money moves: before the handler or after it, once for each authorisation, and what the payer is told."""

import itertools
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.test import override_settings

from florin_x402 import Price
from florin_x402.claims import MemoryClaims
from florin_x402.django import CacheClaims
from proofs import by_hash, second_version
from shops import STYLES, OpenShop
from standin import PAYER, StandIn, Told

CALLERS = 8
MEMORY = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "x402-claims"}


class Forgetful(MemoryClaims):
    """Claims that decide nothing, as those of a process that shares none with others."""

    def add(self, name: str, value: str, *, seconds: int) -> bool:
        """Say that nobody has had it."""
        return True


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("amount", "settle", "first"),
    [("0.01", "", False), ("0.01", "before", True), ("5", "", True), ("5", "after", False)],
)
def test_dear_things_are_settled_first_and_cheap_ones_afterwards(
    open_shop: OpenShop, facilitator: StandIn, style: str, amount: str, settle: Any, first: bool
) -> None:
    shop = open_shop(style, Price(amount, settle=settle))
    settled: list[int] = []
    shop.before_answering = lambda: settled.append(len(facilitator.at("/settle")))
    units = {"0.01": "10000", "5": "5000000"}[amount]
    reply = shop.get(**second_version(units=units))
    assert reply.status == 200
    assert settled == [int(first)]
    (paid,) = shop.served
    assert paid is not None
    assert paid.settled is first
    assert bool(paid.transaction) is first
    assert len(facilitator.at("/settle")) == 1


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("status", [400, 404, 500])
def test_an_answer_that_serves_nothing_costs_nothing(
    open_shop: OpenShop, facilitator: StandIn, style: str, status: int
) -> None:
    shop = open_shop(style)
    shop.status = status
    reply = shop.get(**second_version())
    assert reply.status == status
    assert reply.headers["cache-control"] == "no-store, private"
    assert facilitator.at("/settle") == []


@pytest.mark.parametrize("style", STYLES)
def test_a_resource_whose_payment_fails_in_the_end_is_held_back(
    open_shop: OpenShop, facilitator: StandIn, style: str
) -> None:
    shop = open_shop(style)
    failed = {"success": False, "errorReason": "insufficient_funds", "transaction": ""}
    facilitator.tell("/settle", Told(raw=json.dumps(failed).encode()))
    reply = shop.get(**second_version())
    assert (reply.status, reply.told["reason"]) == (402, "insufficient_funds")
    assert b"the resource" not in reply.body
    assert len(shop.served) == 1


PENDING = Told(raw=b'{"success": false, "errorReason": "settlement_pending", "transaction": "0x1"}')


@pytest.mark.parametrize("settle", ["before", "after"])
def test_a_payment_that_is_on_its_way_is_waited_for_and_never_lost(
    open_shop: OpenShop, facilitator: StandIn, settle: Any
) -> None:
    shop, proof = open_shop("wsgi", Price("0.01", settle=settle)), second_version()
    facilitator.tell("/settle", PENDING)
    assert shop.get(**proof).status == 200
    proof = second_version()
    facilitator.tell("/settle", PENDING, PENDING)
    waiting = shop.get(**proof)
    assert (waiting.status, "retry-after" in waiting.headers) == (503, True)
    # The chain knows the authorisation by now, so that verifying it fails.
    assert shop.get(**proof).status == 200
    assert shop.get(**proof).status == 402


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("settle", ["before", "after"])
@pytest.mark.parametrize("make", [by_hash, second_version])
def test_one_proof_sent_eight_times_at_once_buys_one_resource(
    open_shop: OpenShop, facilitator: StandIn, style: str, settle: Any, make: Any
) -> None:
    shop = open_shop(style, Price("0.01", settle=settle))
    proof = make()
    statuses = at_once(lambda: shop.get(**proof).status)
    assert sorted(statuses) == [200] + [402] * (CALLERS - 1)


def test_without_claims_one_authorisation_would_buy_as_often_as_it_is_sent(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop = open_shop("wsgi", claims=Forgetful())
    gathered = Barrier(CALLERS)
    # All were verified before the first is settled.
    shop.before_answering = lambda: gathered.wait(60)
    proof = second_version()
    assert at_once(lambda: shop.get(**proof).status) == [200] * CALLERS
    remembering = open_shop("wsgi")
    remembering.before_answering = shop.before_answering
    proof = second_version()
    found = at_once(lambda: remembering.get(**proof).status)
    assert sorted(found) == [200] + [402] * (CALLERS - 1)


def test_gates_that_share_a_cache_serve_one_authorisation_once(shared_cache: str, open_shop: OpenShop) -> None:
    # As two processes have it: nothing in common but the cache.
    shops = [open_shop("wsgi", claims=CacheClaims(shared_cache)) for _ in range(2)]
    gathered, turns, proof = Barrier(CALLERS), itertools.count(), second_version()
    for shop in shops:
        shop.before_answering = lambda: gathered.wait(60)
    found = at_once(lambda: shops[next(turns) % 2].get(**proof).status)
    assert sorted(found) == [200] + [402] * (CALLERS - 1)


def at_once(ask: Callable[[], int]) -> list[int]:
    """Ask from several threads at the same moment."""
    gathered = Barrier(CALLERS)

    def one(_: int) -> int:
        gathered.wait(60)
        return ask()

    with ThreadPoolExecutor(CALLERS) as pool:
        return list(pool.map(one, range(CALLERS)))


def test_two_payments_that_one_transaction_made_are_two(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop()

    def bought(payment_id: str) -> int:
        told = {"success": True, "transaction": "0x1", "payer": PAYER, "extra": {"paymentId": payment_id}}
        facilitator.tell("/settle", Told(raw=json.dumps(told).encode()))
        return shop.get(**second_version()).status

    assert [bought("x4p_1"), bought("x4p_2"), bought("x4p_2")] == [200, 200, 402]


@override_settings(CACHES={"default": MEMORY})
def test_a_claim_in_djangos_cache_is_made_and_taken_by_one() -> None:
    claims = CacheClaims("default")
    assert claims.add("a", "1", seconds=60)
    assert not claims.add("a", "2", seconds=60)
    assert claims.take("a") == "1"
    assert claims.take("a") is None
    assert claims.add("a", "3", seconds=60)
    assert claims.take("a") == "3"
