"""Who funded a payer is looked for through the hour that the guide promises, however short a chain's blocks are."""

from typing import Any

import pytest

from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.evm.logs import funder_of, topic
from wallets.chains.family import ChainFacts
from wallets.chains.registry import CHAINS

HOUR = 3_600
PAYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
FUNDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TOKEN = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
EVM_CHAINS = [facts for facts in CHAINS if facts.family is EVM_FAMILY]


class Funded:
    """A node of a chain on which the payer got tokens in one block; `later` has senders and units of what came after them."""

    def __init__(self, newest: int, height: int, *later: tuple[str, int]) -> None:
        self.newest, self.height, self.later = newest, height, later
        self.asked: list[tuple[int, int]] = []

    def run(self, operation: Any) -> Any:
        return operation(self)

    def call(self, method: str, params: list[Any]) -> Any:
        if method == "eth_blockNumber":
            return hex(self.newest)
        [wanted] = params
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        self.asked.append((first, last))
        moved = [(FUNDER, 5), *self.later]
        found = [
            {"topics": [wanted["topics"][0], topic(sender), topic(PAYER)], "data": f"0x{units:064x}"}
            for sender, units in moved
        ]
        return found if first <= self.height <= last else []


def funder(node: Any, facts: ChainFacts) -> str:
    return funder_of(node, TOKEN, PAYER, block_seconds=facts.block_seconds)


@pytest.mark.parametrize("facts", EVM_CHAINS, ids=lambda facts: facts.name)
def test_a_funder_of_the_last_hour_is_found_on_every_chain(facts: ChainFacts) -> None:
    newest = 400_000_000
    node = Funded(newest, newest - int((HOUR - 30) / facts.block_seconds))
    assert funder(node, facts) == FUNDER
    assert all(last - first < 1_000 for first, last in node.asked)
    assert funder(Funded(newest, newest - 10 * int(HOUR / facts.block_seconds)), facts) == ""


@pytest.mark.parametrize("newest", [0, 1, 999, 1_000, 1_500])
@pytest.mark.parametrize("facts", EVM_CHAINS, ids=lambda facts: facts.name)
def test_a_young_chain_is_searched_from_its_first_block(newest: int, facts: ChainFacts) -> None:
    node = Funded(newest, 0)
    assert funder(node, facts) == FUNDER
    assert node.asked[-1][0] == 0


def test_transfers_of_nothing_and_to_oneself_name_no_funder() -> None:
    """Anybody may write a transfer of nothing, in any account's name."""
    facts, other = EVM_CHAINS[0], "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
    assert funder(Funded(100, 100, (other, 0), (PAYER, 5), (other, 0)), facts) == FUNDER
    assert funder(Funded(100, 100, (other, 1), (PAYER, 5)), facts) == other
