"""How forwarders' balances are asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from demo.localnet.anvil import Anvil
from settlements.books.balances import MOST_HOLDERS
from settlements.books.check import Checked, check_chain
from tests.factories import make_merchant
from tests.nodes.proxy import Fault, RpcProxy, honest, methods_of, one_by_one
from tests.settlements.chain import paid_together, read
from wallets.chains.specs import Network
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db


def check() -> Checked:
    return check_chain(chain_spec("base"), now=timezone.now())


FORWARDERS = 300


A_BATCH = 150


@contextmanager
def counted(base_settings: Any, base_node: Anvil, fault: Fault) -> Iterator[list[str]]:
    """Base by a proxy; the methods it was asked, each part of a batch by itself."""
    asked: list[str] = []

    def note(proxy: RpcProxy, request: Any, ask: Any) -> Any:
        asked.extend(methods_of(request))
        return fault(proxy, request, ask)

    with RpcProxy(base_node.url) as proxy:
        proxy.fault = note
        base_settings.CHAIN_SETTINGS = base_settings.CHAIN_SETTINGS | {"BASE_RPC_URLS": proxy.url}
        yield asked


def paid_forwarders(base_node: Anvil, count: int) -> Merchant:
    """So many that hold what tells them apart from none."""
    merchant = make_merchant()
    read(base_node)
    for _ in range(count // A_BATCH):
        paid_together(base_node, A_BATCH, merchant=merchant, units=1_000_000)
    return merchant


def wants_a_contract(proxy: RpcProxy, request: Any, ask: Any) -> Any:
    def answer(one: Any, ask_one: Any) -> Any:
        if one["method"] == "eth_call" and "to" not in one["params"][0]:
            error = {"code": -32602, "message": 'Missing "to" field'}
            return {"jsonrpc": "2.0", "id": one["id"], "error": error}
        return ask_one(one)

    return one_by_one(answer)(proxy, request, ask)


def test_three_hundred_forwarders_take_five_requests(base_settings: Any, base_node: Anvil) -> None:
    paid_forwarders(base_node, FORWARDERS)
    with counted(base_settings, base_node, honest) as asked:
        checked = check()
    assert (checked.asked, checked.differences) == (FORWARDERS, [])
    assert sorted(asked) == ["eth_blockNumber"] * 2 + ["eth_call"] * 2 + ["eth_chainId"]
    assert MOST_HOLDERS < FORWARDERS


def test_a_node_that_wants_a_contract_named_is_asked_for_each_and_only_so_often(
    base_settings: Any, base_node: Anvil
) -> None:
    paid_forwarders(base_node, FORWARDERS)
    with counted(base_settings, base_node, wants_a_contract) as asked:
        public = replace(chain_spec("base"), network=Network.MAINNET)
        few = check_chain(public, now=timezone.now())
        assert (few.asked, few.differences) == (MOST_HOLDERS, [])
        assert len(asked) == MOST_HOLDERS + 3
        pauses: list[float] = []
        patient = check_chain(public, now=timezone.now(), pause=pauses.append)
    assert (patient.asked, patient.differences) == (FORWARDERS, [])
    [pause] = pauses
    assert pause == (MOST_HOLDERS + 3) * 60 / public.requests_per_minute
