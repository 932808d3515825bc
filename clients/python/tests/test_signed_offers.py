"""Offers and receipts that the facilitator signs: asked for rarely, and no condition of a payment."""

from typing import Any

import pytest

from florin_x402 import SettingsError
from florin_x402.offers import receipt_in
from proofs import by_hash, first_version, second_version
from shops import STYLES, OpenShop, Shop
from standin import StandIn, Told

SHOP = "https://shop.example"
SIGNED = {"receipts": True, "base_url": SHOP}


def offers_in(shop: Shop, path: str = "/report") -> Any:
    extensions = shop.get(path).header("PAYMENT-REQUIRED")["extensions"]
    return extensions.get("offer-receipt", {}).get("info", {}).get("offers")


@pytest.mark.parametrize("style", STYLES)
def test_what_is_asked_for_is_signed_once_for_each_address(
    open_shop: OpenShop, facilitator: StandIn, style: str
) -> None:
    shop = open_shop(style, prices={"/report/*": "0.01"}, **SIGNED)
    for path in ("/report/1", "/report/2", "/report/1"):
        signature = f"0.{SHOP}{path}"
        assert offers_in(shop, path) == [{"format": "jws", "acceptIndex": 0, "signature": signature}]
    first, second = facilitator.at("/offers")
    accepts = shop.get("/report/1").header("PAYMENT-REQUIRED")["accepts"]
    assert first.body == {"resource": f"{SHOP}/report/1", "accepts": accepts}
    assert second.body["resource"] == f"{SHOP}/report/2"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("amount", ["0.01", "1"])
def test_the_payer_gets_the_receipt_with_the_answer(
    open_shop: OpenShop, facilitator: StandIn, style: str, amount: str
) -> None:
    shop = open_shop(style, amount, **SIGNED)
    reply = shop.get(**second_version(units={"0.01": "10000", "1": "1000000"}[amount]))
    assert reply.status == 200
    told = reply.header("PAYMENT-RESPONSE")
    signature = f"{told['transaction']}.{SHOP}/report"
    assert told["extensions"] == {"offer-receipt": {"info": {"receipt": {"format": "jws", "signature": signature}}}}
    assert facilitator.at("/settle")[0].body["receiptFor"] == f"{SHOP}/report"


def test_other_protocols_have_no_place_for_a_receipt(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop(**SIGNED)
    for proof in (first_version(), by_hash()):
        assert "extensions" not in shop.get(**proof).header("X-PAYMENT-RESPONSE")
    assert "receiptFor" not in facilitator.at("/settle")[0].body


def test_without_the_setting_nothing_is_signed(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop()
    assert offers_in(shop) is None
    reply = shop.get(**second_version())
    assert "extensions" not in reply.header("PAYMENT-RESPONSE")
    assert facilitator.at("/offers") == []
    assert "receiptFor" not in facilitator.at("/settle")[0].body


@pytest.mark.parametrize(
    "told", [Told(status=404), Told(status=400), Told(status=500), Told(raw=None), Told(raw=b"[]"), Told(raw=b"{}")]
)
def test_a_facilitator_that_signs_nothing_hinders_no_payment_and_is_asked_rarely(
    open_shop: OpenShop, facilitator: StandIn, told: Told
) -> None:
    shop = open_shop(**SIGNED)
    # Two tries, the first of them once more if the server closed a connection that was kept.
    facilitator.tell("/offers", *[told] * 3)
    assert offers_in(shop) is None
    asked = len(facilitator.at("/offers"))
    assert offers_in(shop) is None
    assert len(facilitator.at("/offers")) == asked
    assert shop.get(**second_version()).status == 200


def test_an_address_that_the_facilitator_signs_nothing_for_leaves_the_others_their_offers(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop = open_shop(prices={"/report/*": "0.01"}, **SIGNED)
    facilitator.tell("/offers", Told(status=400))
    assert [offers_in(shop, f"/report/{'x' * 1_900}") for _ in range(2)] == [None, None]
    assert offers_in(shop, "/report/1") is not None
    assert len(facilitator.at("/offers")) == 2


def test_one_path_after_another_asks_for_no_more_signatures_than_a_minute_allows(
    open_shop: OpenShop, facilitator: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("florin_x402.offers._MOST_A_MINUTE", 3)
    monkeypatch.setattr("florin_x402.offers._MOST_KEPT", 2)
    shop = open_shop(prices={"/report/*": "0.01"}, **SIGNED)
    found = [offers_in(shop, f"/report/{number}") for number in range(5)]
    assert [offers is not None for offers in found] == [True, True, True, False, False]
    assert offers_in(shop, "/report/2") == found[2]
    # The oldest made room.
    assert offers_in(shop, "/report/0") is None
    assert len(facilitator.at("/offers")) == 3


@pytest.mark.parametrize(
    "extensions", [None, [], "x", {}, {"offer-receipt": "x"}, {"offer-receipt": {"info": "x" * 4_000}}]
)
def test_a_receipt_of_another_form_is_not_passed_on(extensions: object) -> None:
    assert receipt_in({"success": True, "extensions": extensions}) == {}


def test_an_address_that_a_request_may_write_is_not_signed(facilitator: StandIn) -> None:
    with pytest.raises(SettingsError, match="base_url"):
        facilitator.config({"/report": "0.01"}, receipts=True)
