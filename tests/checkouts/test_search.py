"""Which checkouts a text names."""

from typing import Any

import pytest

from checkouts.models import Checkout
from tests.checkouts.dashboard.opened import listed
from tests.checkouts.factories import make_page_checkout, pay
from tests.dashboard.people import Desk
from tests.factories import make_wallet

pytestmark = pytest.mark.django_db


def test_each_key_finds_its_checkout(owner: Desk) -> None:
    wanted = make_page_checkout(owner.merchant, order_ref="A-1", creation_ref="A-1")
    transfer = _paid(wanted)
    make_page_checkout(owner.merchant, order_ref="A-10")
    keys = [
        wanted.public_id,
        wanted.code,
        f"http://shop.example/c/{wanted.code}?lang=de",
        "A-1",
        f"  {transfer.tx_hash} ",
        transfer.tx_hash.upper().replace("0X", "0x"),
        f"https://basescan.org/tx/{transfer.tx_hash}",
        transfer.recipient,
        transfer.recipient.lower(),
    ]
    for key in keys:
        page = owner.client.get(owner.url("dashboard_checkouts"), {"q": key})
        found = [row.public_id for row in page.context["page"].rows]
        assert found == [wanted.public_id], key


def _paid(checkout: Checkout) -> Any:
    return pay(checkout, confirmations=12)


def test_a_reference_is_found_that_did_not_make_its_checkout(owner: Desk) -> None:
    of_link = make_page_checkout(owner.merchant, order_ref="L-1", creation_ref=None)
    again = make_page_checkout(owner.merchant, order_ref="L-1", creation_ref="again:chk_live_x")
    assert listed(owner, "?q=L-1") == [again.public_id, of_link.public_id]


def test_a_receiving_address_finds_what_was_paid_to_it(owner: Desk) -> None:
    wallet = make_wallet(owner.merchant)
    wanted = make_page_checkout(owner.merchant)
    transfer = _paid(wanted)
    make_page_checkout(owner.merchant)
    transfer.deposit, transfer.wallet = None, wallet
    transfer.save()
    assert listed(owner, f"?q={wallet.address.lower()}") == [wanted.public_id]


@pytest.mark.parametrize("text", ["secret@buyer.example", "%00", "0x" + "00" * 32, "http://[", "x" * 2000, "0"])
def test_what_names_no_checkout_finds_none(text: str, owner: Desk) -> None:
    make_page_checkout(owner.merchant)
    assert listed(owner, f"?q={text}") == []
    assert "No checkouts match" in owner.get("dashboard_checkouts", f"?q={text}").text


def test_another_merchants_keys_find_nothing(owner: Desk) -> None:
    foreign = make_page_checkout(order_ref="A-1", creation_ref="A-1")
    transfer = _paid(foreign)
    for key in (foreign.public_id, foreign.code, "A-1", transfer.tx_hash):
        assert listed(owner, f"?q={key}") == []
    assert listed(owner, f"?q={transfer.recipient}") == []
