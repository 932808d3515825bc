"""The links into wallet apps: each leads to the page or names the payment, and says where it was read."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import wallet_links as watch
from tests.tree import ROOT, relative, repository_files
from tests.wallet_links import old_rows
from tests.wallets.chains.examples import EVM, TON
from tests.wallets.chains.requests import request_on
from wallets.chains.registry import CHAINS, load_chains
from wallets.chains.ton.relay import RELAYED
from wallets.chains.wallet_apps import APPS, BY_KEY, WalletApp, WalletLink, wallet_links

PAGE = "https://pay.example/c/chk9fa?chain=base&token=USDC&lang=zh-hans"
ADDRESSES = {
    "base": EVM,
    "polygon": EVM,
    "ethereum": EVM,
    "solana": "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV",
    "ton": TON,
    "tron": "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb",
}
ON_EVERY_CHAIN = pytest.mark.parametrize("chain", ADDRESSES)
# Whichever app takes one may send its network's own coin, or send to the token's contract.
NEVER = ("ethereum:", "tron:", "ton:", "intent:", "javascript:", "data:")


def links_on(chain: str, page_url: str = PAGE, **options: Any) -> tuple[WalletLink, ...]:
    return wallet_links(request_on(chain, ADDRESSES[chain]), page_url=page_url, **options)


def keys_on(chain: str, **options: Any) -> list[str]:
    return [link.app for link in links_on(chain, **options)]


def _value(url: str, *names: str) -> str:
    query = parse_qs(urlsplit(url).query, strict_parsing=True)
    [value] = [query[name][0] for name in names if name in query]
    return value


def _last_segment(url: str) -> str:
    assert parse_qs(urlsplit(url).query)["ref"] == ["https://pay.example"]
    return unquote(urlsplit(url).path.rpartition("/")[2])


def _cut(url: str) -> str:
    return "https://" + url.partition("/dapp/")[2]


def _okx(url: str) -> str:
    inner = url if url.startswith("okx:") else _value(url, "deeplink")
    return _value(inner, "dappUrl")


def _object(url: str) -> str:
    found = json.loads(_value(url, "param", "params"))
    assert found["action"] == "open"
    page: str = found["url"]
    return page


def _in_query(url: str) -> str:
    return _value(url, "url", "cb_url")


# As the apps read them, so far as their code or their pages say.
READERS: dict[str, Callable[[str], str]] = {
    "metamask": _cut,
    "phantom": _last_segment,
    "solflare": _last_segment,
    "backpack": _last_segment,
    "okx": _okx,
    "tronlink": _object,
    "tokenpocket": _object,
}


def opened_by(link: WalletLink) -> set[str]:
    """The pages that an app opens by its links, which should be one."""
    read = READERS.get(link.app, _in_query)
    return {read(url) for url in (link.url, link.again, link.intent) if url}


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.key)
def test_each_row_says_where_and_when_its_link_was_read(app: WalletApp) -> None:
    assert len(app.source) > 20
    assert date(2026, 11, 26) <= app.read_on <= date.today()  # noqa: DTZ011
    assert app.name
    # A row opens the page, or fills in the payment.
    assert bool(app.opens) != bool(app.pays)


def test_no_row_can_be_written_without_its_source_and_day() -> None:
    with pytest.raises(TypeError):
        WalletApp(key="new", name="New", opens="https://new.example/{url}")  # type: ignore[call-arg]


def test_keys_are_the_rows_own_and_every_chains_list_names_rows() -> None:
    assert len(BY_KEY) == len(APPS)
    named = {key for facts in CHAINS for key in facts.apps}
    assert named == set(BY_KEY)


@ON_EVERY_CHAIN
def test_every_chain_has_ways_for_a_phone_and_none_is_there_twice(chain: str) -> None:
    keys = keys_on(chain)
    assert len(keys) >= 2
    assert len(set(keys)) == len(keys)
    assert all(BY_KEY[key].is_default for key in keys)


@pytest.mark.parametrize(
    "page", [PAGE, "https://pay.example/c/chk9fa", "https://pay.example/c/a?x=%25%2F%3F&y={url}#here"]
)
@pytest.mark.parametrize("chain", ["base", "polygon", "ethereum", "solana", "tron"])
def test_an_app_opens_exactly_the_page_with_its_query_and_without_its_fragment(chain: str, page: str) -> None:
    named = next(facts.apps for facts in CHAINS if facts.name == chain)
    opening = [link for link in links_on(chain, page, named=named) if link.opens_page]
    assert opening
    for link in opening:
        assert opened_by(link) == {page.partition("#")[0]}, link


@given(st.text(st.characters(codec="utf-8", exclude_characters="#\r\n\t"), max_size=60))
def test_whatever_a_query_holds_stays_in_the_page_that_is_opened(text: str) -> None:
    page = f"https://pay.example/c/chk9fa?x={quote(text, safe='')}&lang=ar"
    for chain in ("base", "solana", "tron"):
        for link in links_on(chain, page):
            if link.opens_page:
                assert link.url.isascii()
                assert opened_by(link) == {page}


def test_on_ton_the_transfer_is_filled_in_with_not_one_parameter_more() -> None:
    request = request_on("ton", TON)
    for link in links_on("ton"):
        assert not link.opens_page
        assert link.again == link.url
        parts = urlsplit(link.url)
        assert parts.path.startswith("/transfer/UQ")
        assert parse_qs(parts.query) == {
            "jetton": [request.token_address],
            "amount": ["49000137"],
            "text": ["0123456789abcdef"],
        }
    assert [urlsplit(link.url).netloc for link in links_on("ton")] == ["app.tonkeeper.com", "my.tt"]


def test_the_link_that_names_no_wallet_names_the_token_and_is_the_last() -> None:
    *named, last = links_on("solana")
    assert last.is_any
    assert not any(link.is_any for link in named)
    request = request_on("solana", ADDRESSES["solana"])
    assert parse_qs(urlsplit(last.url).query)["spl-token"] == [request.token_address]
    assert not any(link.is_any for chain in ADDRESSES if chain != "solana" for link in links_on(chain))


def test_no_link_leaves_the_wallet_and_the_token_to_the_phone() -> None:
    for chain in ADDRESSES:
        for link in links_on(chain, named=tuple(BY_KEY)):
            assert not link.url.startswith(NEVER)
            assert not link.again.startswith(NEVER)
    templates = [template for app in APPS for template in (app.opens, app.again, app.pays)]
    assert not any(template.startswith(NEVER) for template in templates)


def test_an_intent_names_the_one_app_that_may_take_it() -> None:
    found = [link for chain in ADDRESSES for link in links_on(chain, named=tuple(BY_KEY)) if link.intent]
    assert {link.app for link in found} == {"phantom"}
    for link in found:
        parts = urlsplit(link.intent)
        assert parts.scheme == "intent"
        # No address to fall back to: Firefox would go there although the app is installed (mozilla-mobile/fenix, issue 15952).
        assert parts.fragment == "Intent;scheme=phantom;package=app.phantom;end"


def test_trust_wallet_hears_the_network_by_its_registered_number() -> None:
    told = {chain: [link.url for link in links_on(chain) if link.app == "trust"] for chain in ("base", "tron")}
    assert "coin_id=60&" in told["base"][0]
    assert "coin_id=195&" in told["tron"][0]


def test_an_app_that_is_told_a_networks_number_knows_one_for_each_of_its_networks() -> None:
    asked = [(facts, BY_KEY[key]) for facts in CHAINS for key in facts.apps if "{coin}" in BY_KEY[key].opens]
    assert asked
    assert all(facts.family.name in app.coins for facts, app in asked)


@pytest.mark.parametrize("network", ["local", "testnet"])
def test_the_links_are_the_same_on_networks_that_apps_do_not_know(network: str) -> None:
    for chain, address in ADDRESSES.items():
        spec = load_chains(network, {})[chain]
        request = replace(request_on(chain, address), spec=spec)
        found = wallet_links(request, page_url=PAGE)
        # A test network without the token has no payment.
        assert [link.app for link in found] == (keys_on(chain) if request.token in spec.tokens else [])


def test_a_token_that_the_settings_no_longer_name_has_no_link() -> None:
    request = request_on("base", EVM, token="GONE")
    assert wallet_links(request, page_url=PAGE) == ()


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        ([], []),
        (["rainbow", "metamask"], ["rainbow", "metamask"]),
        ([" rainbow ", "rainbow", ""], ["rainbow"]),
        # Of other chains, and unknown.
        (["tronlink", "imtoken", "nobody", "okx"], ["okx"]),
    ],
)
def test_an_operator_names_the_apps_and_their_order(named: list[str], kept: list[str]) -> None:
    assert keys_on("base", named=named) == kept


def test_an_app_that_is_off_is_offered_where_an_operator_names_it() -> None:
    assert "tokenpocket" not in keys_on("tron")
    assert keys_on("tron", named=["tokenpocket", "tronlink"]) == ["tokenpocket", "tronlink"]


GUIDE = (ROOT / "docs" / "guide" / "wallet-apps.md").read_text()
GUIDE_ROW = re.compile(r"^\| ((?:`[a-z-]+`(?:, )?)+) \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)


def test_the_guide_lists_every_app_with_its_networks() -> None:
    rows = GUIDE_ROW.findall(GUIDE)
    told = {
        key: ({facts.title for facts in CHAINS if facts.title in networks}, "off at first" not in app)
        for keys, app, networks in rows
        for key in re.findall(r"`([a-z-]+)`", keys)
    }
    known = {app.key: ({facts.title for facts in CHAINS if app.key in facts.apps}, app.is_default) for app in APPS}
    assert told == known


def test_what_was_tried_on_a_phone_has_its_day() -> None:
    head = "| app, version | phone, system | browser | network | date | what happened |\n|---|---|---|---|---|---|\n"
    _, found, rest = GUIDE.partition(head)
    assert found
    rows = rest.partition("\n\n")[0].strip().splitlines()
    days = [date.fromisoformat(row.split("|")[5].strip()) for row in rows if row.startswith("|")]
    assert all(day >= date(2026, 11, 26) for day in days)


def test_nothing_that_buyers_load_is_of_walletconnect_or_appkit_and_the_guide_says_why() -> None:
    shipped = [*repository_files(".js"), *repository_files(".mjs"), *repository_files(".html"), ROOT / "package.json"]
    assert len(shipped) > 100
    foreign = re.compile(r"walletconnect|reown|appkit", re.IGNORECASE)
    assert [relative(path) for path in shipped if foreign.search(path.read_text())] == []
    assert "**WalletConnect and Reown's AppKit**: their licences" in GUIDE


def test_a_check_asks_to_read_a_row_again_twelve_months_after_it_was_read() -> None:
    row = replace(APPS[0], read_on=date(2026, 1, 31))
    assert old_rows([row], date(2027, 1, 31)) == []
    assert old_rows([row], date(2027, 2, 1)) == [row]


def test_the_check_warns_of_each_old_row_of_both_tables(capsys: pytest.CaptureFixture[str]) -> None:
    watch.main(date(2026, 12, 1))
    assert capsys.readouterr().out == ""
    watch.main(date(2036, 1, 1))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(APPS) + len(RELAYED)
    for row in (*APPS, *RELAYED):
        assert any(row.name in line and row.source in line and str(row.read_on) in line for line in lines)
    assert sum("the bridge https://" in line for line in lines) == len(RELAYED)
