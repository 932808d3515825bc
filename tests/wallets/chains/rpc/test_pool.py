"""Several nodes of one chain: the next one answers when the first cannot, and a node of another chain never does."""

from collections.abc import Iterator

import pytest

from localnet.anvil import Anvil
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from wallets.chains.base import (
    ChainError,
    ChainMismatchError,
    ChainUnavailableError,
    RangeTooLargeError,
    ReorgDuringReadError,
)
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool, has_chain_id


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


class Pair:
    """Two proxies before one node, and the pool that uses them."""

    def __init__(self, node: Anvil, first: RpcProxy, second: RpcProxy) -> None:
        self.node, self.first, self.second = node, first, second
        self.clock = Clock()
        self.pool = RpcPool([first.url, second.url], identify=has_chain_id(8453), clock=self.clock)

    def ask(self) -> tuple[int, int]:
        """Ask for the height; return how many requests each proxy got for it."""
        before = self.first.requests, self.second.requests
        assert self.pool.call("eth_blockNumber", []) == hex(self.node.block_number())
        return self.first.requests - before[0], self.second.requests - before[1]


@pytest.fixture
def pair(base_node: Anvil) -> Iterator[Pair]:
    with RpcProxy(base_node.url) as first, RpcProxy(base_node.url) as second:
        pair = Pair(base_node, first, second)
        yield pair
        pair.pool.close()


def test_the_chain_id_is_asked_before_anything_else_and_once(pair: Pair) -> None:
    assert pair.ask() == (2, 0)
    assert pair.ask() == (1, 0)


@pytest.mark.parametrize(
    "fault",
    [
        faults.drops,
        faults.limits_rate,
        faults.garbage(),
        faults.answers_half,
        faults.claims_chain(1),
        faults.refuses(-32603, "internal error"),
        faults.too_large("eth_blockNumber"),
        faults.too_large("eth_chainId"),
    ],
    ids=["drops", "429", "garbage", "half", "another chain", "error", "too large", "too large a chain id"],
)
def test_the_second_node_answers_when_the_first_fails(pair: Pair, fault: faults.Fault) -> None:
    pair.first.fault = fault
    assert pair.ask()[1] > 0


def test_the_preferred_node_is_used_again_once_it_rested(pair: Pair) -> None:
    pair.first.fault = faults.drops
    pair.ask()
    pair.first.fault = faults.honest
    assert pair.ask() == (0, 1)
    pair.clock.seconds += 1
    assert pair.ask() == (2, 0)


def test_a_node_that_keeps_failing_rests_longer_each_time(pair: Pair) -> None:
    pair.first.fault = faults.drops
    rests = []
    for _ in range(8):
        pair.ask()
        rests.append(pair.pool._members[0].rests_until - pair.clock.seconds)
        pair.clock.seconds += rests[-1]
    assert rests == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_node_of_another_chain_is_not_asked_even_when_no_other_answers(pair: Pair) -> None:
    pair.first.fault = faults.claims_chain(1)
    pair.second.fault = faults.drops
    with pytest.raises(ChainMismatchError) as caught:
        pair.pool.call("eth_blockNumber", [])
    assert "chain id 1, not 8453" in str(caught.value)
    before = pair.first.requests
    with pytest.raises(ChainUnavailableError):
        pair.pool.call("eth_blockNumber", [])
    assert pair.first.requests == before


def test_a_node_that_asks_us_to_wait_is_left_alone_until_then(pair: Pair) -> None:
    pair.first.fault = pair.second.fault = faults.limits_rate
    with pytest.raises(ChainUnavailableError):
        pair.pool.call("eth_blockNumber", [])
    asked = pair.first.requests, pair.second.requests
    with pytest.raises(ChainUnavailableError) as caught:
        pair.pool.call("eth_blockNumber", [])
    assert caught.value.retry_after == pytest.approx(7)
    assert (pair.first.requests, pair.second.requests) == asked


def test_after_a_failure_the_chain_id_is_asked_again(pair: Pair) -> None:
    pair.ask()
    pair.first.fault = faults.drops
    pair.ask()
    pair.first.fault = faults.claims_chain(1)
    pair.clock.seconds += 1
    assert pair.ask()[1] == 1


def test_too_large_a_range_is_told_at_once(pair: Pair) -> None:
    pair.first.fault = faults.refuses(-32005, "block range too large", method="eth_getLogs")
    with pytest.raises(RangeTooLargeError):
        pair.pool.run(lambda node: node.call("eth_getLogs", [{}]), is_divisible=True)
    assert pair.second.requests == 0
    # The node has done nothing wrong.
    assert pair.ask() == (1, 0)


def test_a_chain_id_cannot_be_asked_in_parts(pair: Pair) -> None:
    pair.first.fault = faults.too_large("eth_chainId")
    assert pair.pool.run(height, is_divisible=True)
    assert pair.second.requests == 2


@pytest.mark.parametrize("method", ["eth_chainId", "eth_blockNumber"])
def test_a_spare_node_that_answers_too_much_is_left_out_and_rests(pair: Pair, method: str) -> None:
    pair.ask()
    pair.second.fault = faults.too_large(method)
    assert pair.pool.survey(height) == []
    asked = pair.second.requests
    assert pair.pool.survey(height) == []
    assert pair.second.requests == asked
    with pytest.raises(ChainUnavailableError):
        pair.pool.second_opinion(height)
    with pytest.raises(ChainUnavailableError):
        pair.pool.each(height)


def test_a_node_that_contradicts_itself_is_left_for_a_while(pair: Pair) -> None:
    def contradict(_: Node) -> None:
        raise ReorgDuringReadError("logs are of another block")

    pair.ask()
    with pytest.raises(ReorgDuringReadError):
        pair.pool.run(contradict)
    assert pair.ask() == (0, 2)
    pair.clock.seconds += 10
    assert pair.ask() == (1, 0)


def test_when_all_fail_the_preferred_nodes_error_is_told(pair: Pair) -> None:
    pair.first.fault = faults.garbage(b"oops")
    pair.second.fault = faults.drops
    with pytest.raises(ChainError) as caught:
        pair.pool.call("eth_blockNumber", [])
    assert "not JSON" in str(caught.value)


def test_mismatches_names_the_wrong_nodes_alone(pair: Pair) -> None:
    pair.first.fault = faults.claims_chain(137)
    [told] = pair.pool.mismatches()
    assert "chain id 137, not 8453" in told
    pair.second.fault = faults.drops
    assert len(pair.pool.mismatches()) == 1


def height(node: Node) -> str:
    """Ask for the newest block's height."""
    answer: str = node.call("eth_blockNumber", [])
    return answer


def test_a_second_opinion_is_that_of_a_node_not_in_use(pair: Pair) -> None:
    pair.ask()
    before = pair.first.requests
    assert pair.pool.second_opinion(height) == hex(pair.node.block_number())
    assert (pair.first.requests, pair.second.requests) == (before, 2)
    pair.first.fault = faults.drops
    pair.ask()
    pair.first.fault = faults.honest
    before = pair.second.requests
    assert pair.pool.second_opinion(height) == hex(pair.node.block_number())
    assert pair.second.requests == before


def test_one_node_alone_has_no_second_opinion(base_node: Anvil) -> None:
    pool = RpcPool([base_node.url], identify=has_chain_id(8453))
    assert pool.second_opinion(height) is None
    pool.close()


@pytest.mark.parametrize("fault", [faults.drops, faults.claims_chain(1), faults.limits_rate])
def test_a_second_node_that_cannot_answer_has_no_opinion_either(pair: Pair, fault: faults.Fault) -> None:
    pair.ask()
    pair.second.fault = fault
    for _ in range(2):
        with pytest.raises(ChainError):
            pair.pool.second_opinion(height)


def test_every_node_is_asked_where_all_must_agree(pair: Pair) -> None:
    newest = hex(pair.node.block_number())
    assert pair.pool.each(height) == [newest, newest]
    pair.second.fault = faults.drops
    with pytest.raises(ChainUnavailableError):
        pair.pool.each(height)


def never(node: Node) -> str | None:
    """A question that nobody knows the answer of."""
    node.call("eth_blockNumber", [])
    return None


def test_what_each_node_does_not_know_is_unknown(pair: Pair) -> None:
    assert pair.pool.first_known(never) is None
    assert min(pair.first.requests, pair.second.requests) == 2


def test_the_first_node_that_knows_answers_for_all(pair: Pair) -> None:
    found = pair.pool.first_known(lambda node: None if node.label == pair.first.url else node.label)
    assert found == pair.second.url


def test_what_a_node_that_may_not_be_asked_might_know_is_not_unknown(pair: Pair) -> None:
    pair.first.fault = faults.limits_rate
    for _ in range(2):
        with pytest.raises(ChainUnavailableError):
            pair.pool.first_known(never)
    asked = pair.first.requests
    with pytest.raises(ChainUnavailableError):
        pair.pool.first_known(never)
    # It is not asked before the time that it named.
    assert pair.first.requests == asked


def test_what_has_its_time_takes_no_more_and_leaves_others_theirs(pair: Pair) -> None:
    with pair.pool.within(0), pytest.raises(ChainUnavailableError):
        pair.ask()
    pair.clock.seconds += 60
    assert pair.ask()[0] > 0
