"""Each source's answer is read as it is, and one that lies in form, hangs, redirects or is away gives no rate."""

import socket
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from gateway.core.outbound import UrlPolicy
from rates import sources
from rates.sources import (
    BitPay,
    Bitstamp,
    Coinbase,
    EuropeanCentralBank,
    Fetched,
    Fixed,
    Kraken,
    OwnServer,
    SourceClient,
    SourceError,
    parse_sources,
)
from tests.factories import NOON
from tests.rates.playing import playing
from tests.webhooks.receiver import Reply, dripping

LOCAL = UrlPolicy(https_only=False, loopback_allowed=True)
PUBLIC = UrlPolicy(https_only=True, loopback_allowed=False)
WANTED = ("EUR", "JPY", "USDC")
DEFAULT = ("kraken", "coinbase", "bitstamp", "bitpay", "ecb")


def ask(source: SourceClient, *wanted: str, policy: UrlPolicy = LOCAL) -> Fetched:
    return source.fetch(wanted or WANTED, policy=policy, now=lambda: NOON)


def refusal(source: SourceClient, *wanted: str, policy: UrlPolicy = LOCAL) -> str:
    with pytest.raises(SourceError) as refused:
        ask(source, *wanted, policy=policy)
    return str(refused.value)


def test_kraken_is_the_middle_of_bid_and_ask_one_request_a_pair() -> None:
    with playing() as (base, server):
        found = ask(Kraken(base), "EUR", "JPY", "USDC", "USDT")
    # USDT was not recorded: a pair that fails is left out.
    assert found == {
        "EUR": (Decimal("1.08826"), NOON),
        "JPY": (Decimal("0.006666666667"), NOON),
        "USDC": (Decimal("0.99985"), NOON),
    }
    assert {got.path for got in server.got} == {
        "/0/public/Ticker?pair=USDCUSD",
        "/0/public/Ticker?pair=USDTUSD",
        "/0/public/Ticker?pair=EURUSD",
        "/0/public/Ticker?pair=USDJPY",
    }


def test_coinbase_is_one_request_for_all() -> None:
    with playing() as (base, server):
        found = ask(Coinbase(base), "EUR", "USDC", "CHF")
    assert found == {"EUR": (Decimal("1.088413047673"), NOON), "USDC": (Decimal(1), NOON)}
    assert len(server.got) == 1


def test_bitstamp_is_the_middle_of_bid_and_ask_at_its_own_time() -> None:
    with playing() as (base, server):
        found = ask(Bitstamp(base), "EUR", "GBP", "USDC", "JPY")
    # GBP was not recorded, and it does not trade JPY.
    at = NOON + timedelta(seconds=5)
    assert found == {"EUR": (Decimal("1.08828"), at), "USDC": (Decimal("0.9998"), at)}
    assert len(server.got) == 3


@pytest.mark.parametrize("time", ["null", "1795176005", '"x"', '"-1"', '"1795176005.5"', '"999999999999"', '"1e9"'])
def test_a_ticker_without_a_time_is_no_rate(time: str) -> None:
    body = f'{{"bid": "1.08", "ask": "1.09", "timestamp": {time}}}'.encode()
    with playing(lambda _: Reply(200, body=body)) as (base, _):
        assert refusal(Bitstamp(base), "EUR") == "its answer has no usable time"


def test_bitpay_is_what_a_bitcoin_is_in_dollars_by_what_it_is_in_another_currency() -> None:
    with playing() as (base, server):
        found = ask(BitPay(base), "EUR", "BRL", "VND", "USDC", "SEK")
    assert found == {
        "EUR": (Decimal("1.088361336369"), NOON),
        "BRL": (Decimal("0.184842885421"), NOON),
        "VND": (Decimal("0.000037984396"), NOON),
    }
    [got] = server.got
    assert got.headers["X-Accept-Version"] == "2.0.0"


@pytest.mark.parametrize(
    "data",
    [
        "null",
        "{}",
        "[1]",
        '[{"code": "EUR", "rate": 2}]',
        '[{"code": "USD", "rate": 0}, {"code": "EUR", "rate": 2}]',
        '[{"code": "USD", "rate": 2}, {"code": "EUR", "rate": 1e30}]',
        '[{"code": "USD", "rate": 2}, {"code": "EUR", "rate": 2}, {"code": "EUR", "rate": 3}]',
        '[{"code": ["USD"], "rate": 2}, {"code": "EUR", "rate": 2}]',
    ],
)
def test_what_bitpay_may_not_answer(data: str) -> None:
    with playing(lambda _: Reply(200, body=f'{{"data": {data}}}'.encode())) as (base, _):
        refusal(BitPay(base), "EUR")


def test_each_source_says_what_it_may_price() -> None:
    def pricing(what: str) -> set[str]:
        return {one.name for one in parse_sources(DEFAULT) if one.may_price(what)}

    assert pricing("EUR") == {"kraken", "coinbase", "bitstamp", "bitpay", "ecb"}
    assert pricing("BRL") == {"coinbase", "bitpay", "ecb"}
    assert pricing("AED") == {"coinbase", "bitpay"}
    # Coinbase says one dollar for USDC whatever happens.
    assert pricing("USDC") == {"kraken", "bitstamp"}
    assert pricing("USDT") == {"kraken", "coinbase", "bitstamp"}


def test_the_central_banks_rates_are_of_their_day() -> None:
    with playing() as (base, _):
        found = ask(EuropeanCentralBank(base), "EUR", "JPY", "USDC")
    day = datetime(2026, 11, 19, tzinfo=UTC)
    assert found == {"EUR": (Decimal("1.0876"), day), "JPY": (Decimal("0.006666666667"), day)}


def test_an_own_server_gets_its_header_and_others_do_not() -> None:
    with playing(lambda _: Reply(200, body=b'{"EUR": "1.0883", "JPY": 0.0066}')) as (base, server):
        found = ask(OwnServer(base, ("Authorization", "Bearer of-the-treasury")))
        assert found == {"EUR": (Decimal("1.0883"), NOON), "JPY": (Decimal("0.0066"), NOON)}
        assert server.got[0].headers["Authorization"] == "Bearer of-the-treasury"
        ask(OwnServer(base))
        assert "Authorization" not in server.got[1].headers


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"data": null}',
        b'{"data": {"currency": "EUR", "rates": {"EUR": "0.9"}}}',
        b'{"data": {"currency": "USD", "rates": null}}',
        b'{"data": {"currency": "USD", "rates": 0.9}}',
        b'{"data": {"currency": "USD", "rates": "EUR"}}',
        b'{"data": {"currency": "USD", "rates": {"EUR": "0"}}}',
        b'{"data": {"currency": "USD", "rates": {"EUR": "-0.9"}}}',
        b'{"data": {"currency": "USD", "rates": {"EUR": "NaN"}}}',
        b'{"data": {"currency": "USD", "rates": {"EUR": "1e-9"}}}',
        b'{"data": {"currency": "USD", "rates": {"EUR": ["0.9"]}}}',
        b'{"data": {"currency": "USD", "rates": {"EUR": "9999999"}}}',
        b'{"data": {"currency": "USD", "rates": {"EUR": "0.0000000000001"}}}',
        b'{"data": ' + b"[" * 5_000,
        b'{"data": {"currency": "USD", "rates": {"EUR": "0.9"}, "more": "' + b"x" * 100_000,
    ],
)
def test_what_cannot_be_read_is_no_rate(body: bytes) -> None:
    with playing(lambda _: Reply(200, body=body)) as (base, _):
        refusal(Coinbase(base), "EUR")
        refusal(Kraken(base), "EUR")
        refusal(EuropeanCentralBank(base), "EUR")
        refusal(Bitstamp(base), "EUR")
        refusal(BitPay(base), "EUR")


@pytest.mark.parametrize(("bid", "ask_"), [("1.09", "1.08"), ("0.5", "1.5"), ("0", "1.09"), ("1.09", "")])
def test_an_empty_or_crossed_book_has_no_price(bid: str, ask_: str) -> None:
    body = f'{{"error":[],"result":{{"X":{{"a":["{ask_}"],"b":["{bid}"]}}}}}}'.encode()
    with playing(lambda _: Reply(200, body=body)) as (base, _):
        refusal(Kraken(base), "EUR")
    body = f'{{"bid": "{bid}", "ask": "{ask_}", "timestamp": "1795176005"}}'.encode()
    with playing(lambda _: Reply(200, body=body)) as (base, _):
        refusal(Bitstamp(base), "EUR")


def test_two_entries_for_one_pair_are_not_chosen_from() -> None:
    entry = '{"a":["1.09"],"b":["1.08"]}'
    body = f'{{"error":[],"result":{{"A":{entry},"B":{entry}}}}}'.encode()
    with playing(lambda _: Reply(200, body=body)) as (base, _):
        assert "one entry" in refusal(Kraken(base), "EUR")


def test_a_redirect_is_not_followed() -> None:
    with playing(lambda _: Reply(302, headers={"Location": "http://127.0.0.1:1/"})) as (base, server):
        assert refusal(Coinbase(base)) == "it answers with status 302"
        assert len(server.got) == 1


def test_a_source_that_drips_or_is_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SECONDS", 0.3)
    with dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n", b" ") as url:
        assert refusal(OwnServer(url)) == "it does not answer in time"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert refusal(OwnServer(f"http://127.0.0.1:{port}/")) == "it cannot be reached"


def test_our_own_network_is_not_asked() -> None:
    with playing() as (base, server):
        assert refusal(OwnServer(base), policy=PUBLIC) == "it is not a public address"
        assert server.got == []


def test_settings_name_sources_in_their_order() -> None:
    found = parse_sources(
        ["fixed:EUR=1.09;JPY=0.0067", "kraken", "url:https://rates.example.com/now", "ecb"], "X-Key: k"
    )
    assert [source.name for source in found] == ["fixed", "kraken", "rates.example.com", "ecb"]
    assert ask(found[0]) == {"EUR": (Decimal("1.09"), NOON), "JPY": (Decimal("0.0067"), NOON)}
    assert isinstance(found[2], OwnServer)
    assert found[2].header == ("X-Key", "k")


@pytest.mark.parametrize(
    "entries",
    [
        ["binance"],
        ["kraken", "kraken"],
        ["fixed:"],
        ["fixed:KWD=3"],
        ["fixed:EUR=0"],
        ["fixed:EUR=x"],
        ["url:ftp://rates.example.com"],
        ["url:"],
    ],
)
def test_settings_that_cannot_be_read_are_refused(entries: list[str]) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_sources(entries)


def test_fixed_rates_need_no_network() -> None:
    assert ask(Fixed({"EUR": Decimal("1.09"), "CHF": Decimal("1.1")})) == {"EUR": (Decimal("1.09"), NOON)}
