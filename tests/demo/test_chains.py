"""The demo's chains: one node for each chain of the product, each program on a port of its own."""

import re
from pathlib import Path

import pytest

from demo.chains import LocalChains
from demo.families import DEMO_CHAINS
from gateway.core.embedded.processes import ChildCommand


@pytest.fixture
def chains(tmp_path: Path) -> LocalChains:
    return LocalChains(tmp_path, port=lambda number: 19_000 + number)


def test_every_chain_of_the_product_has_a_node(chains: LocalChains) -> None:
    assert [node.name for node in chains.nodes] == [facts.name for facts in DEMO_CHAINS]


def test_no_two_programs_share_a_port(chains: LocalChains, tmp_path: Path) -> None:
    made: list[tuple[str, ...]] = []

    def make(name: str, *argv: str) -> ChildCommand:
        made.append((name, *argv))
        return ChildCommand(name, list(argv), log=None, cwd=tmp_path, env={})

    commands = chains.commands(make)
    assert len(commands) == len(made) >= len(DEMO_CHAINS)
    # One of them is told where another one answers.
    words = " ".join(word for argv in made for word in argv)
    assert len({*re.findall(r"\b190\d\d\b", words)}) == len(made)


def test_only_chains_without_a_clock_are_mined(chains: LocalChains) -> None:
    mined = chains.mined_urls()
    assert len(mined) == len(set(mined))
    without = [n.name for n in chains.nodes if not n.mined_urls()]
    assert without == ["solana", "ton"]
