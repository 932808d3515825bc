"""Where the wallets of a key are on TON."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from nacl.signing import SigningKey

from localnet.ton.node import TonNode
from tests.wallets.tonlab import ton_spec
from wallets.chains.base import ChainUnavailableError
from wallets.chains.registry import open_pool
from wallets.chains.ton.adapter import TonAdapter
from wallets.chains.ton.family import PAUSE_SECONDS, TON_FAMILY, PacedNode, TonTimes, open_node, standard_wallets

# What WalletContractV5R1 of @ton/ton 16.3.0 makes of a key of equal bytes, on mainnet and on testnet.
V5R1 = [
    (0x11, "5889937f42c25258cb60d6098f23b968fb167f66f12a2e7678296a9e9512e9aa"),
    (0x11, "4fcb0f0fa9355375fa5bd244f842950fc5f8276619b3b53bdd80200887d56c62"),
    (0xAB, "416e495f1d7430b229571ca886a8b6c4fbe596e6314527827609bd6072230693"),
    (0xAB, "7c3a7d35536417940b83b3f80175dbe111356b1ce51ac8b8497714faf4598338"),
    (0x07, "9e88a7a0cd2fa9a4a0d83f41daa773364b295d2855394419314df2ea91fee8fe"),
    (0x07, "8740ec1f40ef6bf8fe773a6b2fd2ed632c78d8195e6c6835b22efa730006bc15"),
]
MESSAGE = b"I own this wallet."


@pytest.mark.parametrize(("byte", "address"), V5R1)
def test_version_5_is_where_its_own_library_has_it(byte: int, address: str) -> None:
    assert b"\0" + bytes.fromhex(address) in standard_wallets(bytes([byte]) * 32)
    assert b"\0" + bytes.fromhex(address) not in standard_wallets(bytes(32))


def test_a_key_has_six_wallets() -> None:
    assert len({*standard_wallets(bytes(range(32)))}) == 6


def test_the_key_of_a_wallet_of_version_5_signs_for_it_and_no_other_does() -> None:
    mine, other = SigningKey(bytes(range(32))), SigningKey(bytes(range(1, 33)))
    *_, mainnet, _testnet = standard_wallets(bytes(mine.verify_key))
    address = f"0:{mainnet[1:].hex()}"
    assert TON_FAMILY.address_key(address) == mainnet
    assert _signs(mine, address)
    assert not _signs(other, address)


def _signs(key: SigningKey, address: str) -> bool:
    return TON_FAMILY.is_signed_by(
        address, MESSAGE, base64.b64encode(key.sign(MESSAGE).signature).decode(), public_key=bytes(key.verify_key).hex()
    )


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


def test_without_a_key_the_public_node_is_asked_once_a_second(ton_node: TonNode) -> None:
    now, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    node = PacedNode(ton_node.url, clock=lambda: now[0], sleep=sleep)
    for _ in range(3):
        node.get("masterchainInfo")
    now[0] += 10
    ton_node.limit_rate(1)
    with pytest.raises(ChainUnavailableError):
        node.get("masterchainInfo")
    node.get("masterchainInfo")
    assert slept == pytest.approx([PAUSE_SECONDS] * 3)
    node.close()


@pytest.mark.parametrize(
    ("url", "key", "is_paced"),
    [
        ("https://toncenter.com/api/v3", "", True),
        ("https://testnet.toncenter.com/api/v3", "", True),
        ("https://toncenter.com/api/v3", "key", False),
        ("https://ton.example.com/api/v3", "", False),
        ("https://nottoncenter.com/api/v3", "", False),
    ],
)
def test_only_the_public_node_without_a_key_is_paced(url: str, key: str, is_paced: bool) -> None:
    node = open_node(url, headers={"X-API-Key": key} if key else {})
    assert isinstance(node, PacedNode) == is_paced
