"""The demo has a node, a wallet and a place to be paid for each family of the product's chains."""

from itertools import count
from pathlib import Path

import pytest

from demo.families import DEMO_FAMILIES
from wallets.chains.family import ChainFacts
from wallets.chains.registry import CHAINS, FAMILIES


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_demo_merchant_is_paid_at_an_address_that_takes_money(family: object) -> None:
    [real] = [one for one in FAMILIES if one is family]
    address = DEMO_FAMILIES[real.name].receiving_wallet
    assert real.canonical_address(address) == address
    real.refuse_trap(address)


@pytest.mark.parametrize("facts", CHAINS, ids=lambda facts: facts.name)
def test_a_node_is_named_after_its_chain(facts: ChainFacts, tmp_path: Path) -> None:
    node = DEMO_FAMILIES[facts.family.name].node(facts, count(9000), tmp_path)
    assert node.name == facts.name
