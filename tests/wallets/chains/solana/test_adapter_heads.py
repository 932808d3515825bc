"""The newest slot that a Solana adapter reports, with nodes of which one is wrong."""

import pytest

from demo.localnet.solana.node import SolanaNode
from tests.chains import OpenReader
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from wallets.chains.base import BlockRef, MalformedAnswerError


def test_a_node_with_a_head_that_cannot_be_is_left_for_another(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader
) -> None:
    reader = open_on(solana_proxy.url, solana_node.url)
    newest = reader.head().block
    refused: list[BlockRef] = []

    def check(block: BlockRef) -> None:
        if not refused:
            refused.append(block)
            raise MalformedAnswerError("too high")

    asked = solana_proxy.requests
    assert reader.head(check=check).block.height >= refused[0].height >= newest.height
    assert solana_proxy.requests == asked + 1


@pytest.mark.parametrize("is_spare", [False, True], ids=["preferred", "spare"])
def test_a_node_that_answers_too_much_leaves_the_head_to_another(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, is_spare: bool
) -> None:
    urls = [solana_proxy.url, solana_node.url]
    reader = open_on(*(reversed(urls) if is_spare else urls))
    solana_proxy.fault = faults.too_large("getGenesisHash", "getAccountInfo", "getSlot")
    before = solana_node.slot("confirmed")
    assert before <= reader.head().block.height <= solana_node.slot("confirmed")
