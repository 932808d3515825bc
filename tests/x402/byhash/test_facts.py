"""Asking a node about what nobody has recorded: in one request, not again and again, and with little kept of it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from demo.localnet.anvil import Anvil
from gateway.core.rate_limits import Limit
from tests.contract.client import ApiClient
from tests.factories import make_merchant
from tests.nodes.proxy import RpcProxy
from tests.x402.calls import verdict
from tests.x402.conftest import connect
from tests.x402.payers import (
    claim_of,
    paid,
    pay_to_of,
)
from tests.x402.recorded import (
    make_machine_transfer,
    make_seller,
    request_for,
    verify_it,
)
from x402.byhash import sightings
from x402.byhash.sightings import note_sighting
from x402.models import Sighting
from x402.payments.answers import (
    KEPT,
    forget_old,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def proxy(base: Anvil, settings: Any) -> Iterator[RpcProxy]:
    """Base, behind a proxy that counts."""
    with RpcProxy(base.url) as proxy:
        connect(settings, base=proxy.url)
        yield proxy


def test_a_payment_that_no_watcher_has_read_costs_one_request_to_the_node(
    base: Anvil, proxy: RpcProxy, seller: ApiClient
) -> None:
    claims = [paid(base, seller) for _ in range(2)]
    # Which chain the node is of is asked once.
    assert verdict(seller, claims[0]) == "valid"
    asked = proxy.requests
    assert verdict(seller, claims[1]) == "valid"
    assert proxy.requests == asked + 1


def test_what_no_node_knew_a_moment_ago_is_not_asked_for_again(
    base: Anvil, proxy: RpcProxy, seller: ApiClient
) -> None:
    claim = claim_of(base, "0x" + "5b" * 32, pay_to_of(seller))
    assert verdict(seller, claim) == "not_found"
    asked, began = proxy.requests, timezone.now()
    for seconds, further in ((1, 0), (2, 0), (4, 1), (5, 1)):
        with time_machine.travel(began + timedelta(seconds=seconds), tick=False):
            assert verdict(seller, claim) == "not_found"
        assert proxy.requests == asked + further


def test_what_strangers_make_a_merchant_ask_about_is_not_all_written_down(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sightings, "PER_DAY", Limit("x402.sightings", 2, 86_400))
    merchants = [make_merchant(), make_merchant("Another")]
    to = make_seller(merchants[0], settings)
    for merchant in (merchants[0], merchants[0], merchants[0], merchants[1]):
        proof = request_for(make_machine_transfer(merchants[0], to)).proof
        note_sighting(merchant.pk, proof, now=timezone.now())
    counts = [Sighting.objects.filter(merchant=one).count() for one in merchants]
    assert counts == [2, 1]


def test_a_forgotten_sighting_makes_no_payment_younger(settings: Any) -> None:
    merchant = make_merchant()
    now = timezone.now()
    paid_at = now - KEPT - timedelta(hours=2)
    transfer = make_machine_transfer(
        merchant, make_seller(merchant, settings), block_time=paid_at
    )
    proof = request_for(transfer).proof
    note_sighting(merchant.pk, proof, now=paid_at + timedelta(minutes=1))
    forget_old(now=paid_at + KEPT)
    assert Sighting.objects.exists()
    forget_old(now=now)
    assert not Sighting.objects.exists()
    assert verify_it(transfer, now=now)["reason"] == "too_old"
