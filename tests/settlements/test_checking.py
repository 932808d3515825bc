"""Received, in forwarders and settled add up to what the chain says, to the base unit."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from settlements.figures import figures_of
from settlements.gas.node import GasNode
from settlements.models import BookCheck
from settlements.services.checking import Checked, check_chain
from settlements.services.sweeping import sweep
from tests.factories import make_merchant
from tests.nodes.anvil import Anvil
from tests.settlements.chain import USDC, WAITING, paid, read, settle
from tests.wallets.paying import mint
from wallets.models import DepositBalance, DepositTotal
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db


def check() -> Checked:
    return check_chain(chain_spec("base"), now=timezone.now())


def test_the_three_figures_add_up_through_a_settlement(
    node: GasNode, base_node: Anvil
) -> None:
    merchant = make_merchant()
    paid(base_node, 25_000_000, 30_000_001, merchant=merchant)
    sweep(WAITING, node=node, now=timezone.now())
    read(base_node)
    settle(node, base_node)
    paid(base_node, 7, merchant=merchant)
    [figures] = figures_of(merchant.pk)
    assert (figures.received, figures.settled, figures.in_forwarders) == (
        55_000_008,
        55_000_001,
        7,
    )
    checked = check()
    assert (checked.differences, checked.asked) == ([], 3)
    assert checked.height is not None


def test_a_base_unit_that_the_books_do_not_know_is_found(
    node: GasNode, base_node: Anvil
) -> None:
    [deposit] = paid(base_node, 25_000_000)
    DepositBalance.objects.update(received=24_999_999)
    checked = check()
    assert len(checked.differences) == 2
    assert "received -1" in checked.differences[0]
    assert BookCheck.objects.get().differences == checked.differences
    assert deposit.merchant_id == DepositTotal.objects.get().merchant_id


def test_money_on_the_chain_that_nobody_read_is_found(
    node: GasNode, base_node: Anvil
) -> None:
    deposits = paid(base_node, 25_000_000)
    with connection.cursor() as cursor:
        # As if a watcher had passed over a block.
        cursor.execute("UPDATE wallets_transfer SET units = units - 1")
    [difference] = check().differences
    assert f"{deposits[0]} USDC: the chain less the books 1 " in difference


def test_a_forwarder_that_ought_to_be_empty_is_asked_too(
    node: GasNode, base_node: Anvil
) -> None:
    [deposit] = paid(base_node, 25_000_000)
    sweep(WAITING, node=node, now=timezone.now())
    read(base_node)
    assert check().differences == []
    mint(base_node, USDC, str(deposit), 3)
    # The watcher is not asked, and yet the blocks count as read.
    base_node.mine(6)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wallets_chaincursor SET height = height + 7")
    [difference] = check().differences
    assert "the chain less the books 3 " in difference


def test_the_command_says_what_differs_and_fails(
    node: GasNode, base_node: Anvil, capsys: pytest.CaptureFixture[str]
) -> None:
    paid(base_node, 25_000_000)
    call_command("check_books")
    assert "The books agree." in capsys.readouterr().out
    DepositTotal.objects.update(flushed=1)
    with pytest.raises(CommandError, match="1 differences"):
        call_command("check_books")
    assert "flushed 1" in capsys.readouterr().out


def test_a_chain_that_does_not_answer_is_no_difference(
    base_settings: Any, base_node: Anvil
) -> None:
    paid(base_node, 25_000_000)
    nowhere = {"BASE_RPC_URLS": "http://127.0.0.1:9"}
    base_settings.CHAIN_SETTINGS = base_settings.CHAIN_SETTINGS | nowhere
    checked = check()
    assert (checked.differences, checked.height) == ([], None)
    assert BookCheck.objects.get().height is None
