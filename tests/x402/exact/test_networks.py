"""What the standard calls our chains."""

from typing import Any

import pytest

from accounts.states import Mode
from wallets.networks import chain_spec
from x402.exact.networks import chain_called, network_of, offered_chains


@pytest.fixture(autouse=True)
def _main_network(settings: Any) -> None:
    settings.CHAIN_NETWORK = "mainnet"
    settings.CHAIN_SETTINGS = {}


@pytest.mark.parametrize(
    ("chain", "name", "caip"),
    [
        ("base", "base", "eip155:8453"),
        ("polygon", "polygon", "eip155:137"),
        ("solana", "solana", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
    ],
)
def test_a_chain_has_a_name_in_each_version(chain: str, name: str, caip: str) -> None:
    spec = chain_spec(chain)
    assert (network_of(spec, 1), network_of(spec, 2)) == (name, caip)
    assert chain_called(name, 1, Mode.TEST) == spec
    assert chain_called(caip, 2, Mode.TEST) == spec


def test_a_name_of_the_other_version_is_none() -> None:
    assert chain_called("base", 2, Mode.TEST) is None


def test_without_nodes_nothing_live_is_offered() -> None:
    assert offered_chains(Mode.LIVE) == []
    assert {spec.name for spec in offered_chains(Mode.TEST)} >= {"base", "solana"}
