"""The relay to wallets on the page as it is sent: off unless it is set, and then one origin and no more."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from checkouts.models import Checkout
from tests.checkouts.factories import (
    make_completed,
    make_exact_choice,
    make_expired,
    make_page_checkout,
    make_test_checkout,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

TONKEEPER = "https://bridge.tonapi.io/bridge"
ORIGIN = "https://bridge.tonapi.io"
NAMED = re.compile(
    r"[^\n]*(?:css/relayed\.css|js/relayed\.js|id=\"relay\")[^\n]*\n|<template data-relay=.*?</template>\n", re.DOTALL
)


def page_of(client: Client, checkout: Checkout, query: str = "?chain=ton") -> Any:
    answer = client.get(f"/c/{checkout.code}{query}")
    assert answer.status_code == 200
    return answer


def sources_of(answer: Any) -> list[str]:
    """What the page may connect to."""
    rules = dict(rule.split(" ", 1) for rule in answer["Content-Security-Policy"].split("; "))
    return list(rules["connect-src"].split())


def told_by(answer: Any) -> Any:
    """What the page tells its script; None if nothing."""
    found = re.search(r'<script id="relay" type="application/json">(.*?)</script>', answer.content.decode())
    return found and json.loads(found[1])


def texts_of(client: Client, checkout: Checkout) -> Iterator[str]:
    """All that a buyer's browser gets of the page."""
    code = checkout.code
    for path in (f"/c/{code}?chain=ton", f"/c/{code}/wallets?chain=ton", f"/c/{code}/status?chain=ton"):
        answer = client.get(path)
        yield re.sub(r"[a-f0-9]{32,}", "", answer.content.decode())


def test_without_the_setting_the_page_names_no_relay_and_reaches_no_other_host(client: Client) -> None:
    checkout = make_exact_choice()
    answer = page_of(client, checkout)
    assert sources_of(answer) == ["'self'"]
    assert told_by(answer) is None
    assert not any("relay" in text for text in texts_of(client, checkout))


def test_the_setting_adds_its_own_parts_and_changes_no_other_byte(client: Client, settings: Any) -> None:
    checkout = make_exact_choice()
    before = list(texts_of(client, checkout))
    settings.TON_CONNECT_RELAY = TONKEEPER
    page, wallets, status = texts_of(client, checkout)
    marked = page.replace("<li data-relayed>", "<li>", 1)
    assert marked != page
    assert [NAMED.sub("", marked), NAMED.sub("", wallets)] == before[:2]
    assert json.loads(status)["panel"].replace("<li data-relayed>", "<li>", 1) == json.loads(before[2])["panel"]


@pytest.mark.parametrize("url", [TONKEEPER, f"{TONKEEPER}/"])
@pytest.mark.parametrize("query", ["?chain=ton", "?chain=base"])
def test_the_pages_policy_allows_exactly_the_bridges_origin(
    url: str, query: str, client: Client, settings: Any
) -> None:
    settings.TON_CONNECT_RELAY = url
    checkout = make_exact_choice()
    # Whatever is chosen first: the page changes to another network without being loaded again.
    answer = page_of(client, checkout, query)
    assert sources_of(answer) == ["'self'", ORIGIN]
    assert told_by(answer) == {
        "bridge": TONKEEPER,
        "wallets": [{"key": "tonkeeper", "name": "Tonkeeper", "link": "https://app.tonkeeper.com/ton-connect"}],
    }
    assert sources_of(client.get(f"/c/{checkout.code}/wallets?chain=ton")) == ["'self'"]
    assert sources_of(client.get("/c/none")) == ["'self'"]


def test_a_page_that_is_shown_again_with_a_mistake_has_the_same_policy(client: Client, settings: Any) -> None:
    settings.TON_CONNECT_RELAY = TONKEEPER
    checkout = make_exact_choice()
    sent = {"tx": "no hash", "chain": "ton"}
    answer = client.post(f"/c/{checkout.code}/find", sent, headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 400
    assert sources_of(answer) == ["'self'", ORIGIN]


def test_an_address_of_the_operators_own_reaches_the_wallets_that_are_named(client: Client, settings: Any) -> None:
    settings.TON_CONNECT_RELAY = "https://relay.pay.example:8443/ton"
    checkout = make_exact_choice()
    assert told_by(page_of(client, checkout)) is None
    settings.TON_CONNECT_RELAY_WALLETS = ["telegram-wallet", "nobody", "tonkeeper"]
    answer = page_of(client, checkout)
    assert sources_of(answer) == ["'self'", "https://relay.pay.example:8443"]
    assert [wallet["key"] for wallet in told_by(answer)["wallets"]] == ["telegram-wallet", "tonkeeper"]


@pytest.mark.parametrize("make", [make_test_checkout, make_completed, make_expired, make_page_checkout])
def test_there_is_none_where_it_has_no_use(make: Any, client: Client, settings: Any) -> None:
    checkout = make()
    offers = {chain: offer for chain, offer in checkout.offers.items() if chain != "ton"}
    if checkout.mode == "live" and checkout.status == "pending":
        Checkout.objects.filter(pk=checkout.pk).update(offers=offers)
    settings.TON_CONNECT_RELAY = TONKEEPER
    answer = page_of(client, checkout, "")
    assert sources_of(answer) == ["'self'"]
    assert told_by(answer) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://bridge.tonapi.io/bridge",
        "https://bridge.tonapi.io/bridge; script-src *",
        "https://bridge.tonapi.io /bridge",
        "https://*.tonapi.io/bridge",
        "wss://bridge.tonapi.io/bridge",
    ],
)
def test_a_wrong_address_opens_no_policy(url: str, client: Client, settings: Any) -> None:
    settings.TON_CONNECT_RELAY, settings.TON_CONNECT_RELAY_WALLETS = url, ["tonkeeper"]
    answer = page_of(client, make_exact_choice())
    assert sources_of(answer) == ["'self'"]
    assert told_by(answer) is None
