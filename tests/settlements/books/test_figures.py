"""The three figures of the books."""

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.books.check import Checked, check_chain
from settlements.books.figures import figures_of
from settlements.gas.node import GasNode
from settlements.sweeps.service import sweep
from tests.factories import make_merchant
from tests.settlements.chain import WAITING, paid, read, settle
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db


def check() -> Checked:
    return check_chain(chain_spec("base"), now=timezone.now())


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
