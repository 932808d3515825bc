"""What a 402 says for catalogues, and which listings are refused at the start."""

from typing import Any

import pytest

from florin_x402 import Listing, Price, SettingsError
from proofs import second_version
from shops import OpenShop, Shop
from standin import StandIn

SHIPS = Listing(
    example={"port": "Hamburg"},
    schema={"properties": {"port": {"type": "string"}}, "required": ["port"]},
    output={"ships": 3},
    route="/reports/:port",
    service="Harbour reports",
    tags=("ships", "ports"),
    icon_url="https://harbour.example/icon.png",
)


def test_a_listed_resource_is_described_in_the_second_version_alone(open_shop: OpenShop) -> None:
    reply = open_shop(price=Price("0.01", listing=SHIPS)).get()
    told = reply.header("PAYMENT-REQUIRED")
    assert told["extensions"]["bazaar"]["routeTemplate"] == "/reports/:port"
    assert told["extensions"]["bazaar"]["info"] == {
        "input": {"type": "http", "method": "GET", "queryParams": {"port": "Hamburg"}},
        "output": {"type": "json", "example": {"ships": 3}},
    }
    schema = told["extensions"]["bazaar"]["schema"]["properties"]["input"]
    assert schema["properties"]["queryParams"] == {"type": "object", **SHIPS.schema}
    assert schema["required"] == ["type", "method"]
    assert told["resource"]["serviceName"] == "Harbour reports"
    assert told["resource"]["tags"] == ["ships", "ports"]
    assert told["resource"]["iconUrl"] == "https://harbour.example/icon.png"
    assert "extensions" not in reply.told
    assert set(reply.told["accepts"][0]).isdisjoint({"serviceName", "tags", "iconUrl"})


def test_a_body_is_listed_for_the_method_that_has_one(open_shop: OpenShop) -> None:
    listing = Listing(method="POST", example={"port": "Hamburg"})
    shop = open_shop(price=Price("0.01", listing=listing))
    listed = shop.get(method="POST").header("PAYMENT-REQUIRED")["extensions"]["bazaar"]
    body = {"type": "http", "method": "POST", "bodyType": "json", "body": {"port": "Hamburg"}}
    assert listed["info"] == {"input": body}
    assert listed["schema"]["properties"]["input"]["required"] == ["type", "method", "bodyType", "body"]
    assert "bazaar" not in shop.get().header("PAYMENT-REQUIRED")["extensions"]


def test_a_price_without_a_listing_says_nothing_of_one(gated_shop: Shop) -> None:
    told = gated_shop.get().header("PAYMENT-REQUIRED")
    assert "bazaar" not in told["extensions"]
    assert set(told["resource"]) == {"url"}


def test_a_facilitator_that_indexes_gets_the_sellers_own_description(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop(price=Price("0.01", listing=SHIPS))
    extensions = shop.get().header("PAYMENT-REQUIRED")["extensions"]
    proof = second_version(extensions=extensions, resource={"url": "https://evil.example", "serviceName": "Evil"})
    assert shop.get(**proof).status == 200
    payload = facilitator.at("/settle")[0].body["paymentPayload"]
    assert payload["extensions"] == extensions
    assert payload["resource"]["serviceName"] == "Harbour reports"


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "HEAD"},
        {"route": "reports"},
        {"route": "/reports/../secret"},
        {"service": "x" * 33},
        {"service": "Häfen"},
        {"tags": ("",)},
        {"tags": tuple("abcdef")},
        {"icon_url": "https://127.0.0.1/icon.png"},
        {"icon_url": "https://localhost/icon.png"},
        {"icon_url": "https://[::1]/icon.png"},
        {"icon_url": "https://user:word@harbour.example/icon.png"},
        {"icon_url": "ftp://harbour.example/icon.png"},
        {"icon_url": "https://[broken"},
        {"schema": {"$ref": "https://evil.example/schema"}},
        {"schema": {"properties": {"port": [{"$id": 7}]}}},
        {"example": {"port": object()}},
        {"output": "x" * 2_000},
    ],
)
def test_a_listing_that_catalogues_would_drop_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="listing"):
        Listing(**changes)
