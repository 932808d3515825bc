"""Reading Tron through java-tron's JSON-RPC: Tron's spelling, Tron's limits, Tron's finality."""

import re

import pytest

from localnet import tokens
from localnet.funding import payer
from localnet.tron import USDT, TronNode
from localnet.tron.addresses import to_hex
from localnet.tron.rules import RateLimit
from tests.wallets.evmkin import opened, read_whole, spec_of
from wallets.chains.base import ChainUnavailableError, Hint, RangeTooLargeError
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.evm.decode import PADDING
from wallets.chains.evm.find import LogsQuestion
from wallets.chains.tron.dialect import TRON_DIALECT, contract, write_address
from wallets.chains.tron.family import TRON_FAMILY

WALLET = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"
KEY = TRON_FAMILY.address_key(WALLET)


def test_a_person_sees_base58_and_ids_without_0x(tron_node: TronNode, tron_adapter: EvmAdapter) -> None:
    tx_id = tron_node.pay(WALLET, 25_003_700)
    [paid] = read_whole(tron_adapter, {KEY})
    assert (paid.recipient, paid.recipient_key) == (WALLET, KEY)
    assert paid.sender == tron_node.payer_address
    assert (paid.token, paid.token_address) == ("USDT", USDT)
    assert paid.tx_hash == tx_id
    assert re.fullmatch(r"[0-9a-f]{64}", paid.tx_hash)
    assert (paid.chain, paid.units, paid.position) == ("tron", 25_003_700, 0)


def test_addresses_are_written_as_they_are_read() -> None:
    assert write_address(KEY) == WALLET
    assert contract(USDT) == "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c"


def test_two_transfers_of_one_transaction_keep_their_places(tron_node: TronNode, tron_adapter: EvmAdapter) -> None:
    pays = [(to_hex(WALLET), 5), (to_hex(WALLET), 5)]
    anvil = tron_node.anvil
    tokens.transfer_many(anvil, payer(anvil), to_hex(USDT), pays)
    found = read_whole(tron_adapter, {KEY})
    assert [(one.position, one.units) for one in found] == [(0, 5), (1, 5)]
    assert len({one.tx_hash for one in found}) == 1


def test_what_is_solidified_is_final_whatever_its_depth(tron_node: TronNode, tron_adapter: EvmAdapter) -> None:
    tron_node.mine(60)
    for lag in (18, 19, 40):
        tron_node.rules.solidified_lag = lag
        head = tron_adapter.head()
        height = head.block.height
        assert tron_adapter.final_height(head, read_height=height) == height - lag
        assert tron_adapter.final_height(head, read_height=2) == 2
        assert tron_adapter.finalized() == height - lag


def test_no_block_is_solidified_before_eighteen_stand_on_it_whatever_a_node_says(
    tron_node: TronNode, tron_adapter: EvmAdapter
) -> None:
    tron_node.rules.solidified_lag = 0
    tron_node.mine(60)
    head = tron_adapter.head()
    height = head.block.height
    assert tron_adapter.final_height(head, read_height=height) == height - 18
    assert tron_adapter.finalized() == height - 18


def test_a_provider_without_the_tag_is_believed_twenty_blocks_deep(
    tron_node: TronNode, tron_adapter: EvmAdapter
) -> None:
    tron_node.rules.knows_finalized = False
    tron_node.mine(60)
    head = tron_adapter.head()
    height = head.block.height
    assert head.finalized is None
    assert tron_adapter.final_height(head, read_height=height) == height - 19
    assert tron_adapter.finalized() == height - 19


def test_a_provider_that_refused_the_tag_is_asked_again_only_after_a_while(tron_node: TronNode) -> None:
    seconds = [0.0]
    with opened(spec_of("tron", tron_node.url)) as adapter:
        adapter._clock = lambda: seconds[0]
        tron_node.rules.knows_finalized = False
        adapter.head()
        tron_node.rules.knows_finalized = True
        before = adapter.requests
        assert adapter.head().finalized is None
        assert adapter.requests == before + 1
        seconds[0] += 600
        assert adapter.head().finalized is not None


def test_a_provider_that_knows_no_batches_is_read_all_the_same(tron_node: TronNode, tron_adapter: EvmAdapter) -> None:
    tron_node.rules.takes_batches = False
    paid = [tron_node.pay(WALLET, units) for units in (1, 2, 3)]
    tron_node.mine(100)
    assert [one.tx_hash for one in read_whole(tron_adapter, {KEY})] == paid
    tron_node.pay(WALLET, 4)
    assert len(read_whole(tron_adapter, {KEY})) == 4


def test_batches_are_not_tried_again_once_they_were_refused(tron_node: TronNode, tron_adapter: EvmAdapter) -> None:
    tron_node.rules.takes_batches = False
    tron_adapter.head()
    before = tron_node.requests
    tron_adapter.head()
    assert tron_node.requests == before + 2


def test_no_more_blocks_are_asked_for_than_java_tron_gives(tron_node: TronNode, tron_adapter: EvmAdapter) -> None:
    head = tron_adapter.head()
    before = tron_node.requests
    with pytest.raises(RangeTooLargeError, match="5000 blocks"):
        tron_adapter.read(0, 5_000, head=head, hint=Hint(frozenset({KEY})), ours=lambda found: found)
    assert tron_node.requests == before


@pytest.mark.parametrize("wallets", [1, 500, 501, 2_000])
def test_no_more_recipients_are_named_than_java_tron_takes(
    tron_node: TronNode, tron_adapter: EvmAdapter, wallets: int
) -> None:
    tron_node.pay(WALLET, 25)
    tron_node.mine(70)
    keys = {number.to_bytes(20, "big") for number in range(1, wallets)} | {KEY}
    assert [one.units for one in read_whole(tron_adapter, keys)] == [25]


def test_the_key_goes_to_the_provider_and_into_no_error(tron_node: TronNode) -> None:
    tron_node.rules.api_key = "secret-key-1"
    with opened(spec_of("tron", tron_node.url, API_KEYS="secret-key-1")) as adapter:
        assert adapter.head().block.height == tron_node.anvil.block_number()
    with (
        opened(spec_of("tron", tron_node.url, API_KEYS="secret-key-2")) as adapter,
        pytest.raises(ChainUnavailableError) as caught,
    ):
        adapter.head()
    assert "ApiKey not exists" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_each_provider_gets_its_own_key(tron_node: TronNode) -> None:
    tron_node.rules.api_key = "second-key"
    other = tron_node.url.replace("127.0.0.1", "localhost")
    spec = spec_of("tron", tron_node.url, other, API_KEYS="first-key,second-key")
    with opened(spec) as adapter:
        assert adapter.head().block.height == tron_node.anvil.block_number()
        assert adapter._pool.current_label.startswith("http://localhost")


@pytest.mark.parametrize("limit", [RateLimit.SERVLET, RateLimit.BAN])
def test_a_provider_that_limits_our_rate_is_left_alone_for_as_long_as_it_asks(
    tron_node: TronNode, tron_adapter: EvmAdapter, limit: RateLimit
) -> None:
    tron_adapter.head()
    tron_node.rules.rate_limit = limit
    with pytest.raises(ChainUnavailableError):
        tron_adapter.head()
    before = tron_node.requests
    with pytest.raises(ChainUnavailableError) as caught:
        tron_adapter.head()
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 1
    assert tron_node.requests == before


def test_a_second_provider_witnesses_what_the_first_told(tron_node: TronNode) -> None:
    tron_node.pay(WALLET, 25)
    second = f"{tron_node.url}?second"
    with opened(spec_of("tron", tron_node.url, second)) as adapter:
        assert adapter.witness(read_whole(adapter, {KEY})) == [True]


def test_a_wallet_nobody_asked_about_is_not_told_of(tron_node: TronNode, tron_adapter: EvmAdapter) -> None:
    tron_node.pay("TLCuBEirVzB6V4menLZKw1jfBTFMZbuKq7", 25)
    assert read_whole(tron_adapter, {KEY}) == []


def test_a_recipient_is_named_with_and_without_trons_prefix_byte() -> None:
    question = LogsQuestion(["0xa6"], Hint(frozenset({KEY})), dialect=TRON_DIALECT)
    [(_, [asked])] = question.by_range(0, 1)
    assert asked["topics"][2] == [f"{PADDING}{KEY.hex()}", f"{PADDING[:-2]}41{KEY.hex()}"]
