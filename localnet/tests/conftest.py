"""Chains for the tests of this distribution, each as new for each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from localnet.anvil import Anvil
from localnet.funding import prepare_tokens
from localnet.solana.node import SolanaNode
from localnet.ton.node import TonNode

BASE = 8453


@pytest.fixture(scope="session")
def base_process() -> Iterator[Anvil]:
    """The session's anvil. Ask for `base_node` instead."""
    with Anvil(BASE) as node:
        prepare_tokens(node)
        yield node


@pytest.fixture
def base_node(base_process: Anvil) -> Iterator[Anvil]:
    """A chain with Base's id, tokens and a funded payer, undone after the test."""
    with base_process.rolled_back():
        yield base_process


@pytest.fixture
def start_node() -> Iterator[Callable[..., Anvil]]:
    """Start a node of the test's own, with Anvil's arguments: empty, and stopped after the test."""
    with ExitStack() as stack:

        def start(chain_id: int = BASE, **options: Any) -> Anvil:
            return stack.enter_context(Anvil(chain_id, **options))

        yield start


@pytest.fixture(scope="session")
def solana_process() -> Iterator[SolanaNode]:
    """The session's Solana node. Ask for `solana_node` instead."""
    with SolanaNode() as node:
        yield node


@pytest.fixture
def solana_node(solana_process: SolanaNode) -> SolanaNode:
    """A Solana chain of the test's own, with USDC and a funded payer on it."""
    solana_process.reset()
    return solana_process


@pytest.fixture(scope="session")
def ton_process() -> Iterator[TonNode]:
    """The session's TON node. Ask for `ton_node` instead."""
    with TonNode() as node:
        yield node


@pytest.fixture
def ton_node(ton_process: TonNode) -> TonNode:
    """A TON chain of the test's own, with USDT and a funded payer on it."""
    ton_process.reset()
    return ton_process
