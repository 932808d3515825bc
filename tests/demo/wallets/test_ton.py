"""TON's wallet sends the amount with the link's comment."""

import base64
from collections.abc import Iterator

import pytest

from demo.localnet.ton.node import TonNode
from demo.seed import RECEIVING_WALLETS
from demo.wallet import pay
from tests.demo.addresses import ton_entry
from tests.demo.test_wallet import AMOUNT, UNITS


@pytest.fixture(scope="module")
def ton() -> Iterator[TonNode]:
    with TonNode() as node:
        yield node


def test_a_ton_wallet_writes_the_links_comment(ton: TonNode) -> None:
    to = RECEIVING_WALLETS["ton"]
    before = ton.balance(to)
    pay(ton_entry(ton), token="USDT", to=to, amount=AMOUNT, comment="K7QX")
    assert ton.balance(to) == before + UNITS
    query = {"owner_address": to, "direction": "in", "sort": "desc"}
    newest = ton.get("jetton/transfers", **query)["jetton_transfers"][0]
    assert newest["amount"] == str(UNITS)
    assert b"K7QX" in base64.b64decode(newest["forward_payload"])
