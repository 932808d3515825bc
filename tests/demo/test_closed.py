"""Checkouts that are closed, and how their payments are still known."""

import pytest

from checkouts.models import AmountReservation
from demo.closed import closed_option
from demo.wallets.base import WalletError
from tests.factories import NOON, make_checkout


@pytest.mark.django_db
def test_a_closed_checkout_is_still_known_by_its_deposit_address() -> None:
    checkout = make_checkout()
    option = closed_option(checkout.public_id, "base")
    assert option["address"] == checkout.offers["base"]["address"]
    assert option["payAmount"] == "25.000000"


@pytest.mark.django_db
def test_a_closed_checkout_is_still_known_by_its_last_exact_amount() -> None:
    offers = {"ton": {"tokens": ["USDT"], "address": None, "wallet": "EQ"}}
    checkout = make_checkout(offers=offers)
    with pytest.raises(WalletError, match="nobody chose"):
        closed_option(checkout.public_id, "ton")
    AmountReservation.objects.create(
        checkout=checkout,
        merchant=checkout.merchant,
        mode=checkout.mode,
        price=checkout.amount,
        suffix=3_700,
        reference=b"\x01" * 32,
        memo="K7QX",
        reserved_at=NOON,
    )
    option = closed_option(checkout.public_id, "ton")
    assert (option["address"], option["payAmount"]) == ("EQ", "25.003700")
    assert option["paymentUri"].endswith("&text=K7QX")


@pytest.mark.django_db
def test_a_chain_that_was_not_offered_has_no_address() -> None:
    with pytest.raises(WalletError, match="not offered"):
        closed_option(make_checkout().public_id, "solana")
