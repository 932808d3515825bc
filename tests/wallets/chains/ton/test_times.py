"""Blocks of TON by their time, as the index has them."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from demo.localnet.ton.node import TonNode
from tests.wallets.tonlab import ton_spec
from wallets.chains.adapters import open_pool
from wallets.chains.base import ChainUnavailableError
from wallets.chains.ton.adapter import TonAdapter
from wallets.chains.ton.family import TonTimes


@pytest.fixture
def times(ton_node: TonNode) -> Iterator[TonTimes]:
    pool = open_pool(ton_spec(ton_node.url, usdt=ton_node.usdt))
    yield TonTimes(pool)
    pool.close()


def test_the_newest_older_block_is_found_and_found_again_by_its_height(
    ton_node: TonNode, times: TonTimes, proxied_ton_adapter: TonAdapter
) -> None:
    ton_node.pay(ton_node.create_wallet().address, 7)
    head = proxied_ton_adapter.head().block
    before = times.before(head.time)
    assert before.time <= head.time
    assert 0 < before.height <= head.height
    assert times.at(before.height) == before


def test_before_the_first_block_there_is_nothing_to_read(times: TonTimes) -> None:
    none = times.before(datetime(1990, 1, 1, tzinfo=UTC))
    assert none.height == 0
    assert times.at(0) == none


def test_a_block_that_no_node_has_is_not_made_up(times: TonTimes) -> None:
    with pytest.raises(ChainUnavailableError, match="block 4000000000"):
        times.at(4_000_000_000)
