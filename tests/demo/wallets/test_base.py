"""What the demo's wallets refuse."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from demo.localnet.anvil import Anvil
from demo.localnet.ton.node import TonNode
from demo.seed import RECEIVING_WALLETS
from demo.wallet import pay
from demo.wallets.base import WalletError
from tests.demo.addresses import evm_balance, evm_entry, solana_entry, ton_entry, tron_entry

TOO_MUCH = "999999999999"


BUYER = "0x000000000000000000000000000000000000dEaD"


ENTRIES: dict[str, tuple[Callable[[Any], dict[str, Any]], str]] = {
    "evm": (evm_entry, "base_node"),
    "tron": (tron_entry, "tron_node"),
    "solana": (solana_entry, "solana_node"),
    "ton": (ton_entry, "ton"),
}


@pytest.fixture(scope="module")
def ton() -> Iterator[TonNode]:
    with TonNode() as node:
        yield node


@pytest.mark.parametrize("family", ["evm", "tron", "solana", "ton"])
def test_a_wallet_that_has_too_little_says_so_and_sends_nothing(family: str, request: pytest.FixtureRequest) -> None:
    entry_of, node = ENTRIES[family]
    entry = entry_of(request.getfixturevalue(node))
    to = RECEIVING_WALLETS["base" if family == "evm" else family]
    [token] = entry["tokens"]
    with pytest.raises(WalletError, match="did not take the transfer"):
        pay(entry, token=token, to=to, amount=TOO_MUCH)


def test_where_transfers_carry_no_comment_the_wallet_refuses_one(base_node: Anvil) -> None:
    with pytest.raises(WalletError, match="no comment"):
        pay(evm_entry(base_node), token="USDC", to=BUYER, amount="1", comment="x")
    assert evm_balance(base_node)(BUYER) == 0
