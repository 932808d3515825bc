"""Nodes that lag, lie, refuse, hang and break off: nothing is credited that is not there, and nothing is lost."""

import json
from typing import Any

import pytest

from localnet.anvil import Anvil
from tests.exhaustive import sample
from tests.faults.oracle import audit, await_order, settle
from tests.installation import CHAIN_IDS, Installation
from tests.nodes.proxy import (
    Answer,
    Fault,
    Request,
    RpcProxy,
    answers_half,
    answers_half_of_a_batch,
    claims_chain,
    claims_newer_head,
    drops,
    garbage,
    hangs,
    lags,
    limits_rate,
)
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

# What a watcher says of a node it cannot read; nothing where a node lags, for it will grow.
COMPLAINTS = {
    "lags": "",
    "claims a newer head": "",
    "lies about its chain": "has chain id",
    "limits our rate": "limits our rate",
    "hangs": "does not answer",
    "drops connections": "does not answer",
    "breaks off": "does not answer",
    "answers half a batch": "was not answered",
}
FAULTS = {
    "lags": lambda node: lags(node.block_number()),
    "claims a newer head": lambda node: claims_newer_head(node.block_number()),
    "lies about its chain": lambda node: restarted_as(node.chain_id + 1),
    "limits our rate": lambda node: limits_rate,
    "hangs": lambda node: hangs,
    "drops connections": lambda node: drops,
    "breaks off": lambda node: answers_half,
    "answers half a batch": lambda node: answers_half_of_a_batch,
    "answers garbage": lambda node: garbage(),
}


def restarted_as(chain_id: int) -> Fault:
    """Drop a connection, as a restart does, after which the chain id is asked for and is another one."""
    lies, restarts = claims_chain(chain_id), iter([drops])
    return lambda proxy, request, ask: next(restarts, lies)(proxy, request, ask)


def fault_of(name: str, node: Anvil) -> Fault:
    """A fault that begins now."""
    return FAULTS[name](node)


def times_asked(installation: Installation) -> list[int]:
    """How many requests each node got, the first of Base first."""
    return [proxy.requests for both in installation.proxies.values() for proxy in both]


@pytest.fixture(autouse=True)
def _without_memory(installation: Installation) -> None:
    """A new watcher, which holds nothing against any node and asks the first one first."""
    installation.kill(installation.the("watcher"))
    installation.restore()


@pytest.mark.parametrize("name", FAULTS)
def test_the_second_node_stands_in_for_the_first(installation: Installation, name: str) -> None:
    asked_before = times_asked(installation)[0]
    installation.misbehave(fault_of(name, installation.nodes["base"]))
    installation.pay_all(installation.create_checkouts(2))
    settle(installation)
    assert times_asked(installation)[0] > asked_before
    installation.behave()
    installation.pay_all(installation.create_checkouts(1))
    settle(installation)


def await_complaint(installation: Installation, chain: str, words: str) -> None:
    """Return once the watcher has written down what is wrong with a chain's nodes."""
    asked = "SELECT last_error FROM wallets_chaincursor WHERE chain = %s"
    wait_until(lambda: words in installation.database.value(asked, chain))


def answers_for(node: Anvil) -> Fault:
    """Pass every question on to a node of another chain."""
    return lambda proxy, request, ask: Answer(json.dumps(ask_at(node, request)).encode())


def ask_at(node: Anvil, request: Request) -> Any:
    """What a node answers to a request or a batch of them."""
    with RpcProxy(node.url) as other:
        return other.ask(request)


def test_a_node_of_another_chain_is_passed_over_from_the_start(installation: Installation) -> None:
    installation.kill(installation.the("watcher"))
    installation.misbehave(answers_for(installation.nodes["polygon"]))
    watcher = installation.start("watcher")
    installation.end_leases()
    wait_until(lambda: installation.watcher_of("base") == watcher)
    installation.pay_all(installation.create_checkouts(2))
    installation.pay_all(installation.create_checkouts(1), chain="polygon")
    settle(installation)


def test_a_node_that_turns_into_another_chains_is_passed_over(installation: Installation) -> None:
    installation.misbehave(answers_for(installation.nodes["polygon"]))
    installation.pay_all(installation.create_checkouts(2))
    installation.pay_all(installation.create_checkouts(1), chain="polygon")
    settle(installation)
    installation.behave()
    installation.pay_all(installation.create_checkouts(1))
    settle(installation)


@pytest.mark.parametrize(
    ("on_base", "on_polygon"),
    sample(
        [
            ("lies about its chain", "limits our rate"),
            ("hangs", "breaks off"),
            ("lags", "claims a newer head"),
            ("answers half a batch", "drops connections"),
        ],
        2,
    ),
)
def test_with_no_good_node_left_payments_wait_until_one_heals(
    installation: Installation, on_base: str, on_polygon: str
) -> None:
    checkouts = {chain: installation.create_checkouts(2) for chain in CHAIN_IDS}
    for chain, name in zip(CHAIN_IDS, (on_base, on_polygon), strict=True):
        fault = fault_of(name, installation.nodes[chain])
        installation.misbehave(fault, chain=chain, urls=2)
    asked_before = times_asked(installation)
    for chain in CHAIN_IDS:
        installation.pay_all(checkouts[chain], chain=chain)
    installation.finalize()
    for chain, name in zip(CHAIN_IDS, (on_base, on_polygon), strict=True):
        await_complaint(installation, chain, COMPLAINTS[name])
    wait_until(lambda: asked_before < times_asked(installation))
    assert not any("not on chain" in problem for problem in audit(installation))
    installation.behave()
    await_order(installation)
