"""Asking a node about what nobody has recorded: in one request, not again and again, and with little kept of it."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from localnet.anvil import Anvil
from tests.chains import connect
from tests.contract.client import ApiClient
from tests.nodes.proxy import RpcProxy
from tests.x402.calls import verdict
from tests.x402.payers import claim_of, paid, pay_to_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def proxy(base: Anvil, settings: Any) -> Iterator[RpcProxy]:
    """Base, behind a proxy that counts."""
    with RpcProxy(base.url) as proxy:
        connect(settings, base=proxy.url)
        yield proxy


def test_a_payment_that_no_watcher_has_read_costs_one_request_to_the_node(
    base: Anvil, proxy: RpcProxy, base_seller: ApiClient
) -> None:
    claims = [paid(base, base_seller) for _ in range(2)]
    # Which chain the node is of is asked once.
    assert verdict(base_seller, claims[0]) == "valid"
    asked = proxy.requests
    assert verdict(base_seller, claims[1]) == "valid"
    assert proxy.requests == asked + 1


def test_what_no_node_knew_a_moment_ago_is_not_asked_for_again(
    base: Anvil, proxy: RpcProxy, base_seller: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claim_of(base, "0x" + "5b" * 32, pay_to_of(base_seller))
    assert verdict(base_seller, claim) == "not_found"
    asked, began, clock = proxy.requests, timezone.now(), time.monotonic
    for seconds, further in ((1, 0), (2, 0), (4, 1), (5, 1)):
        monkeypatch.setattr(time, "monotonic", lambda: clock() + seconds)  # noqa: B023
        # What the wall clock says does not matter: it may be set back.
        with time_machine.travel(began - timedelta(hours=seconds), tick=False):
            assert verdict(base_seller, claim) == "not_found"
        assert proxy.requests == asked + further
