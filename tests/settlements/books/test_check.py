"""Received, in forwarders and settled add up to what the chain says, to the base unit."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from accounts.models import Merchant
from localnet.anvil import Anvil
from localnet.permit2 import lay_multicall
from settlements.books import check as checking
from settlements.books.check import CHECK_EVERY, Checked, check_chain, next_to_check
from settlements.dashboard.sums import figures_of
from settlements.gas.node import GasNode
from settlements.models import BookCheck
from settlements.sweeps.service import sweep
from tests.factories import make_merchant
from tests.nodes.proxy import Fault, RpcProxy, honest, methods_of
from tests.settlements.chain import USDC, WAITING, paid, paid_together, read, settle
from tests.wallets.paying import mint
from wallets.chains.evm.balances import MOST_HOLDERS
from wallets.chains.family import ChainSpec, Network
from wallets.models import DepositBalance, DepositTotal
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db


def check() -> Checked:
    return check_chain(chain_spec("base"), now=timezone.now())


def test_a_base_unit_that_the_books_do_not_know_is_found(base_gas_node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    DepositBalance.objects.update(received=24_999_999)
    checked = check()
    assert len(checked.differences) == 2
    assert "received -1" in checked.differences[0]
    assert BookCheck.objects.get().differences == checked.differences
    assert deposit.merchant_id == DepositTotal.objects.get().merchant_id


def test_money_on_the_chain_that_nobody_read_is_found(base_gas_node: GasNode, base_node: Anvil) -> None:
    deposits = paid(base_node, 25_000_000)
    with connection.cursor() as cursor:
        # As if a watcher had passed over a block.
        cursor.execute("UPDATE wallets_transfer SET units = units - 1")
    [difference] = check().differences
    assert f"{deposits[0]} USDC: the chain less the books 1 " in difference


def test_a_forwarder_that_ought_to_be_empty_is_asked_too(base_gas_node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    sweep(WAITING, node=base_gas_node, now=timezone.now())
    read(base_node)
    assert check().differences == []
    mint(base_node, USDC, str(deposit), 3)
    # The watcher is not asked, and yet the blocks count as read.
    base_node.mine(6)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wallets_chaincursor SET height = height + 7")
    [difference] = check().differences
    assert "the chain less the books 3 " in difference


def test_a_chain_that_does_not_answer_is_no_difference(base_settings: Any, base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    nowhere = {"BASE_RPC_URLS": "http://127.0.0.1:9"}
    base_settings.CHAIN_SETTINGS = base_settings.CHAIN_SETTINGS | nowhere
    checked = check()
    assert (checked.differences, checked.height) == ([], None)
    assert BookCheck.objects.get().height is None


def test_each_chain_has_its_turn_once_a_day_even_if_checking_it_was_killed(
    base_settings: Any, base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    both = [chain_spec("base"), chain_spec("polygon")]
    BookCheck.objects.create(chain="base", checked_at=now - 2 * CHECK_EVERY)
    assert next_to_check(both, now=now) == chain_spec("polygon")
    BookCheck.objects.create(chain="polygon", checked_at=now)
    assert next_to_check(both, now=now) == chain_spec("base")

    def killed(spec: ChainSpec) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "_balance_differences", killed)
    with pytest.raises(KeyboardInterrupt):
        check_chain(chain_spec("base"), now=now)
    assert next_to_check(both, now=now) is None
    assert BookCheck.objects.get(chain="base").height is None


# The three figures of the books.


def test_the_three_figures_add_up_through_a_settlement(base_gas_node: GasNode, base_node: Anvil) -> None:
    merchant = make_merchant()
    paid(base_node, 25_000_000, 30_000_001, merchant=merchant)
    sweep(WAITING, node=base_gas_node, now=timezone.now())
    read(base_node)
    settle(base_gas_node, base_node)
    paid(base_node, 7, merchant=merchant)
    [figures] = figures_of(merchant.pk)
    assert (figures.received, figures.settled, figures.in_forwarders) == (55_000_008, 55_000_001, 7)
    checked = check()
    assert (checked.differences, checked.asked) == ([], 3)
    assert checked.height is not None


# How forwarders' balances are asked for.


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


def test_three_hundred_forwarders_take_five_requests(base_settings: Any, base_node: Anvil) -> None:
    lay_multicall(base_node)
    paid_forwarders(base_node, FORWARDERS)
    with counted(base_settings, base_node, honest) as asked:
        checked = check()
    assert (checked.asked, checked.differences) == (FORWARDERS, [])
    assert sorted(asked) == ["eth_blockNumber"] * 2 + ["eth_call"] * 2 + ["eth_chainId"]
    assert MOST_HOLDERS < FORWARDERS


def test_without_multicall_each_forwarder_is_asked_for_and_only_so_many(base_settings: Any, base_node: Anvil) -> None:
    paid_forwarders(base_node, FORWARDERS)
    with counted(base_settings, base_node, honest) as asked:
        public = replace(chain_spec("base"), network=Network.MAINNET)
        few = check_chain(public, now=timezone.now())
        assert (few.asked, few.differences) == (MOST_HOLDERS, [])
        assert len(asked) == MOST_HOLDERS + 3
        pauses: list[float] = []
        patient = check_chain(public, now=timezone.now(), pause=pauses.append)
    assert (patient.asked, patient.differences) == (FORWARDERS, [])
    [pause] = pauses
    assert pause == (MOST_HOLDERS + 3) * 60 / public.requests_per_minute


# `manage.py check_books`.


def test_the_command_says_what_differs_and_fails(
    base_gas_node: GasNode, base_node: Anvil, capsys: pytest.CaptureFixture[str]
) -> None:
    paid(base_node, 25_000_000)
    call_command("check_books")
    assert "All balances agree." in capsys.readouterr().out
    DepositTotal.objects.update(flushed=1)
    with pytest.raises(CommandError, match="1 differences"):
        call_command("check_books")
    assert "flushed 1" in capsys.readouterr().out
