"""TronGrid as a second source: it tells what the JSON-RPC tells, or it raises."""

from datetime import UTC, datetime

import pytest

from localnet import tokens
from localnet.funding import payer
from localnet.tron import USDT, TronNode
from localnet.tron.addresses import to_base58, to_hex
from localnet.tron.rules import RateLimit
from tests.wallets.evmkin import read_whole, spec_of
from wallets.chains.base import BlockRef, ChainMismatchError, ChainUnavailableError, RangeTooLargeError, TokenTransfer
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.tron import grid as trongrid
from wallets.chains.tron.family import TRON_FAMILY
from wallets.chains.tron.grid import TronGridSource

WALLETS = ["TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr", "TLCuBEirVzB6V4menLZKw1jfBTFMZbuKq7"]
KEYS = [TRON_FAMILY.address_key(wallet) for wallet in WALLETS]
USDT_HEX = to_hex(USDT)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
Span = tuple[BlockRef, BlockRef]


def solidified(adapter: EvmAdapter, first: int = 0) -> Span:
    """From a block to the newest solidified one."""
    start, end = adapter.blocks([first, adapter.finalized()])
    return start, end


def in_order(transfers: list[TokenTransfer]) -> list[TokenTransfer]:
    return sorted(transfers, key=lambda one: (one.block_height, one.position))


def test_both_sources_tell_the_same(tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource) -> None:
    anvil = tron_node.anvil
    for number, wallet in enumerate([*WALLETS, *WALLETS], start=1):
        tron_node.pay(wallet, number)
    twice = [(to_hex(wallet), 25) for wallet in [*WALLETS, *WALLETS]]
    tokens.transfer_many(anvil, payer(anvil), USDT_HEX, twice)
    tron_node.mine(25)
    told = tron_grid.transfers(KEYS, *solidified(tron_adapter))
    assert len(told) == 8
    assert in_order(told) == in_order(read_whole(tron_adapter, KEYS))


def test_a_listing_of_many_pages_is_read_to_its_end(
    tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trongrid, "ROWS_IN_A_PAGE", 2)
    paid = [tron_node.pay(WALLETS[0], units) for units in range(1, 6)]
    tron_node.mine(25)
    told = tron_grid.transfers(KEYS[:1], *solidified(tron_adapter))
    assert [one.tx_hash for one in told] == paid


def test_a_listing_that_does_not_end_is_too_large(
    tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trongrid, "ROWS_IN_A_PAGE", 1)
    monkeypatch.setattr(trongrid, "MOST_PAGES", 2)
    for units in (1, 2, 3):
        tron_node.pay(WALLETS[0], units)
    tron_node.mine(25)
    with pytest.raises(RangeTooLargeError):
        tron_grid.transfers(KEYS[:1], *solidified(tron_adapter))


def test_what_is_outside_of_the_span_is_left_out(
    tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource
) -> None:
    tron_node.pay(WALLETS[0], 1)
    before = tron_node.anvil.block_number()
    tron_node.pay(WALLETS[0], 2)
    tron_node.mine(19)
    tron_node.pay(WALLETS[0], 3)
    told = tron_grid.transfers(KEYS, *solidified(tron_adapter, first=before + 1))
    assert [one.units for one in told] == [2]


def test_a_span_that_is_not_solidified_is_not_answered(
    tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource
) -> None:
    head = tron_adapter.head().block
    with pytest.raises(ChainUnavailableError, match="has not solidified"):
        tron_grid.transfers(KEYS, head, head)


def test_a_source_on_another_fork_is_not_compared_with(
    tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource
) -> None:
    tron_node.pay(WALLETS[0], 25)
    tron_node.mine(40)
    first, last = solidified(tron_adapter)
    # Empty blocks alone would come back as they were.
    tron_node.anvil.reorg(41)
    with pytest.raises(ChainMismatchError, match="another block"):
        tron_grid.transfers(KEYS, first, last)


def test_what_is_no_payment_is_no_payment_here_either(
    tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource
) -> None:
    anvil, [wallet, _] = tron_node.anvil, WALLETS
    funded = anvil.block_number()
    fake = tokens.deploy_token(anvil, "USDT", salt=tokens.FAKE)
    tokens.mint(anvil, fake, to_hex(wallet), 25)
    tron_node.pay(wallet, 0)
    signature = "approve(address,uint256)"
    tokens.execute(anvil, payer(anvil), USDT_HEX, signature, to_hex(wallet), 25)
    own = TRON_FAMILY.address_key(tron_node.payer_address)
    tron_node.pay(tron_node.payer_address, 25)
    tron_node.mine(25)
    span = solidified(tron_adapter, first=funded + 1)
    assert tron_grid.transfers([*KEYS, own], *span) == []


@pytest.mark.parametrize(("limit", "seconds"), [(RateLimit.SERVLET, 2), (RateLimit.BAN, 30)])
def test_its_rate_limit_says_how_long_to_wait(
    tron_node: TronNode, tron_grid: TronGridSource, limit: RateLimit, seconds: float
) -> None:
    block = BlockRef(0, "", "", NOON)
    tron_node.rules.rate_limit = limit
    with pytest.raises(ChainUnavailableError) as caught:
        tron_grid.transfers(KEYS, block, block)
    assert caught.value.retry_after == seconds


def test_it_is_sent_the_key_of_its_own_host_and_no_other(tron_node: TronNode) -> None:
    tron_node.rules.api_key = "grid-key"
    elsewhere = tron_node.url.replace("127.0.0.1", "localhost")
    mine = spec_of("tron", elsewhere, tron_node.url, API_KEYS="other-key,grid-key")
    foreign = spec_of("tron", elsewhere, API_KEYS="grid-key")
    block = BlockRef(0, "0x" + "00" * 32, "", NOON)
    with pytest.raises(ChainMismatchError):
        TronGridSource(mine, tron_node.grid_url).transfers(KEYS, block, block)
    with pytest.raises(ChainUnavailableError):
        TronGridSource(foreign, tron_node.grid_url).transfers(KEYS, block, block)


def test_its_label_tells_no_secret(tron_node: TronNode) -> None:
    spec = spec_of("tron", tron_node.url, API_KEYS="grid-key")
    source = TronGridSource(spec, f"{tron_node.grid_url}/path-key?token=query-key")
    assert source.label == tron_node.grid_url


def test_senders_are_told_in_base58(tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource) -> None:
    tron_node.pay(WALLETS[0], 25)
    tron_node.mine(25)
    [told] = tron_grid.transfers(KEYS, *solidified(tron_adapter))
    assert told.sender == to_base58(payer(tron_node.anvil).address)
