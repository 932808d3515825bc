"""Received, in forwarders and settled add up to what the chain says, to the base unit."""

from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.books import check as checking
from settlements.books.check import CHECK_EVERY, Checked, check_chain, next_to_check
from settlements.gas.node import GasNode
from settlements.models import BookCheck
from settlements.sweeps.service import sweep
from tests.settlements.chain import USDC, WAITING, paid, read
from tests.wallets.paying import mint
from wallets.chains.specs import ChainSpec
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

    monkeypatch.setattr(checking, "_of_balances", killed)
    with pytest.raises(KeyboardInterrupt):
        check_chain(chain_spec("base"), now=now)
    assert next_to_check(both, now=now) is None
    assert BookCheck.objects.get(chain="base").height is None
