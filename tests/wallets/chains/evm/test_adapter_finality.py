"""When EVM chains call a block final, and what is believed of nodes that do not say."""

from collections.abc import Iterator

import pytest

from localnet.anvil import Anvil
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.wallets.evmkin import opened, spec_of
from wallets.chains.base import ChainError, ChainUnavailableError
from wallets.chains.evm.adapter import EvmAdapter


def refuses_finalized(request: dict[str, object], ask: faults.Ask) -> object:
    params = request["params"]
    if isinstance(params, list) and "finalized" in params:
        error = {"code": -32602, "message": "invalid block number"}
        return {"jsonrpc": "2.0", "id": request["id"], "error": error}
    return ask(request)


WITHOUT_TAG = faults.one_by_one(refuses_finalized)


def final_height(adapter: EvmAdapter) -> int:
    head = adapter.head()
    return adapter.final_height(head, read_height=head.block.height)


@pytest.mark.parametrize(("chain", "depth"), [("ethereum", 6), ("base", 12)])
def test_ethereum_and_base_are_final_by_depth_the_transfers_block_being_the_first(
    chain: str, depth: int, request: pytest.FixtureRequest
) -> None:
    node: Anvil = request.getfixturevalue(f"{chain}_node")
    with opened(spec_of(chain, node.url)) as adapter:
        assert final_height(adapter) == node.block_number() - depth + 1


def test_polygon_is_final_by_depth_and_not_before_its_tag(polygon_node: Anvil) -> None:
    polygon_node.mine(80)
    height = polygon_node.block_number()
    with opened(spec_of("polygon", polygon_node.url)) as adapter:
        # anvil's tag is 64 blocks behind.
        assert final_height(adapter) == height - 64
        head = adapter.head()
        assert adapter.final_height(head, read_height=height - 70) == height - 81


@pytest.fixture
def tagless(polygon_node: Anvil) -> Iterator[RpcProxy]:
    with RpcProxy(polygon_node.url) as proxy:
        proxy.fault = WITHOUT_TAG
        yield proxy


def test_depth_alone_is_not_final_on_polygon(tagless: RpcProxy) -> None:
    with (
        opened(spec_of("polygon", tagless.url)) as adapter,
        pytest.raises(ChainUnavailableError, match="invalid block number"),
    ):
        adapter.head()


def test_polygons_tag_is_asked_of_the_next_node_where_the_first_refuses_it(
    polygon_node: Anvil, tagless: RpcProxy
) -> None:
    with opened(spec_of("polygon", tagless.url, polygon_node.url)) as adapter:
        assert adapter.head().finalized is not None


def test_large_amounts_wait_for_the_chains_own_word(ethereum_node: Anvil) -> None:
    ethereum_node.mine(80)
    with opened(spec_of("ethereum", ethereum_node.url)) as adapter:
        assert adapter.finalized() == ethereum_node.block_number() - 64


@pytest.mark.parametrize(("chain", "blocks"), [("ethereum", 100), ("base", 600)])
def test_a_node_without_the_tag_is_believed_twenty_minutes_deep(
    chain: str, blocks: int, request: pytest.FixtureRequest
) -> None:
    node: Anvil = request.getfixturevalue(f"{chain}_node")
    with RpcProxy(node.url) as proxy:
        proxy.fault = WITHOUT_TAG
        with opened(spec_of(chain, proxy.url)) as adapter:
            assert adapter.finalized() == node.block_number() - blocks + 1


def test_a_local_chain_has_no_validators_to_wait_for(ethereum_node: Anvil) -> None:
    spec = spec_of("ethereum", ethereum_node.url, network="local", CONFIRMATIONS="2")
    with opened(spec) as adapter:
        assert adapter.finalized() == ethereum_node.block_number() - 1


@pytest.mark.parametrize(
    "fault",
    [faults.drops, faults.limits_rate, faults.refuses(-32005, "daily limit")],
    ids=["drops", "429", "error about the rate"],
)
def test_a_node_that_fails_has_not_refused_the_tag(ethereum_node: Anvil, fault: faults.Fault) -> None:
    with RpcProxy(ethereum_node.url) as proxy, opened(spec_of("ethereum", proxy.url)) as adapter:
        adapter.head()
        proxy.fault = fault
        with pytest.raises(ChainError):
            adapter.finalized()


def test_no_block_is_final_before_it_is_there(ethereum_node: Anvil) -> None:
    ahead = faults.one_by_one(
        lambda request, ask: (
            ask(request | {"params": [hex(3), False]}) if request["params"][:1] == ["latest"] else ask(request)
        )
    )
    ethereum_node.mine(100)
    with RpcProxy(ethereum_node.url) as proxy, opened(spec_of("ethereum", proxy.url)) as adapter:
        proxy.fault = ahead
        assert adapter.finalized() == 3
