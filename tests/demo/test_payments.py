"""What the demo's wallets make of a payment link."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from demo.localnet.ton.node import TonNode
from demo.payments import Wish, pay_option
from tests.demo.addresses import ton_entry

UNITS = 12_340_017


AMOUNT = "12.340017"


@pytest.fixture(scope="module")
def ton() -> Iterator[TonNode]:
    with TonNode() as node:
        yield node


def ton_option(address: str) -> dict[str, Any]:
    """A chosen option as the API answers it."""
    link = f"ton://transfer/{address}?jetton=EQ&amount={UNITS}&text=K7QX"
    return {"address": address, "payAmount": AMOUNT, "paymentUri": link}


@pytest.mark.parametrize(
    ("wish", "units", "comment"),
    [
        (Wish("ton"), UNITS, b"K7QX"),
        (Wish("ton", comment="another"), UNITS, b"another"),
        (Wish("ton", amount="1.5"), 1_500_000, None),
        (Wish("ton", amount="1.5", comment="by hand"), 1_500_000, b"by hand"),
    ],
)
def test_a_payment_follows_the_link_unless_it_is_typed_by_hand(
    ton: TonNode, wish: Wish, units: int, comment: bytes | None
) -> None:
    to = ton.create_wallet(nanotons=0).address
    pay_option(ton_entry(ton), ton_option(to), wish)
    query = {"owner_address": to, "direction": "in"}
    [row] = ton.get("jetton/transfers", **query)["jetton_transfers"]
    payload = row["forward_payload"] and base64.b64decode(row["forward_payload"])
    assert row["amount"] == str(units)
    assert payload is None if comment is None else comment in payload
