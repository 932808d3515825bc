"""Bridges of TON Connect: which addresses are one, and which wallets a page reaches there."""

from datetime import date

import pytest

from tests.tree import ROOT
from wallets.chains.ton.relay import BY_KEY, RELAYED, RelayedWallet, is_bridge, open_relay


@pytest.mark.parametrize("wallet", RELAYED, ids=lambda wallet: wallet.key)
def test_each_row_says_where_and_when_it_was_read_and_has_a_bridge_of_its_own(wallet: RelayedWallet) -> None:
    assert len(wallet.source) > 20
    assert date(2026, 11, 26) <= wallet.read_on <= date.today()  # noqa: DTZ011
    assert wallet.link.startswith("https://")
    assert is_bridge(wallet.bridge)
    found = open_relay(wallet.bridge)
    assert found is not None
    assert found.keys == {wallet.key}
    assert len(BY_KEY) == len(RELAYED)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://relay.example", "https://relay.example"),
        ("https://relay.example/", "https://relay.example"),
        ("https://relay.example:8443/a/b-c_d.e~f/", "https://relay.example:8443"),
        ("https://127.0.0.1:443/bridge", "https://127.0.0.1:443"),
        ("https://xn--brcke-lva.example/v1", "https://xn--brcke-lva.example"),
    ],
)
def test_an_https_address_is_a_bridge_of_the_wallets_that_are_named(url: str, origin: str) -> None:
    assert is_bridge(url)
    assert open_relay(url) is None
    found = open_relay(url, ["tonhub", "tonkeeper", "tonhub"])
    assert found is not None
    assert found.origin == origin
    assert found.bridge == url.rstrip("/")
    assert [wallet.key for wallet in found.wallets] == ["tonhub", "tonkeeper"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://",
        "relay.example",
        "http://relay.example",
        "https://user@relay.example",
        "https://relay.example?a=b",
        "https://relay.example/#a",
        "https://relay.example//",
        "https://relay.example/a b",
        "https://relay.example/a;b",
        "https://relay.example,https://other.example",
        "https://*.example",
        "https://relay.example:0",
        "https://relay.example:123456",
        "https://brücke.example",
        "https://relay.example/bridge\n",
        "HTTPS://relay.example",
    ],
)
def test_nothing_else_is(url: str) -> None:
    assert not is_bridge(url)
    assert open_relay(url, ["tonkeeper"]) is None


def test_names_that_are_not_known_reach_no_wallet() -> None:
    assert open_relay(RELAYED[0].bridge, ["nobody"]) is None


def test_the_library_is_the_published_one_with_its_licence() -> None:
    vendored, published = ROOT / "static/js/vendor", ROOT / "node_modules/tweetnacl"
    assert (vendored / "tweetnacl.js").read_bytes() == (published / "nacl-fast.min.js").read_bytes()
    assert (vendored / "LICENSE.tweetnacl.txt").read_bytes() == (published / "LICENSE").read_bytes()
