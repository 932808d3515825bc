"""The demo shop over real HTTP: its pages, its wallet and its webhooks. Its purchases are tested with the whole demo."""

import io
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import pytest
from PIL import Image

from demo.gateway_api import GatewayApi, GatewayError
from demo.nodes.base import LocalChain
from demo.shop.logo import GREEN, shop_logo
from demo.shop.server import BUYER as CUSTOMER
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of, token_address
from tests.demo.shop.client import CREDENTIALS, Client, serve
from tests.demo.shop.test_signature import signed

BUYER = "0x000000000000000000000000000000000000dEaD"
NESTED = b'{"a":' * 500 + b"1" + b"}" * 500


@pytest.fixture
def shop_on_base(base_node: Anvil) -> Iterator[Client]:
    account = payer(base_node)
    chain = LocalChain(
        name="base",
        kind="evm",
        rpc_url=base_node.url,
        node_url=base_node.url,
        chain_id=8453,
        tokens={"USDC": token_address("USDC")},
        funded_address=account.address,
        funded_private_key=account.key,
    )
    yield from serve({"base": chain.as_json()})


def test_a_genuine_webhook_is_accepted_and_shown(empty_shop: Client) -> None:
    body = b'{"type": "checkout.completed", "checkout_id": "chk_live_1"}'
    header = {"X-Service-Signature": signed(body, at=str(int(time.time())))}
    assert empty_shop.ask("POST", "/webhook", body, **header)[0] == 200
    _, shown = empty_shop.ask("GET", "/received")
    assert "checkout.completed" in shown
    assert "chk_live_1" in shown
    assert "signature verified" in shown


def test_a_forged_webhook_is_refused_and_shown_as_such(empty_shop: Client) -> None:
    body = b'{"type": "checkout.completed"}'
    forged = {"X-Service-Signature": signed(body, secret="guess")}
    assert empty_shop.ask("POST", "/webhook", body, **forged)[0] == 400
    _, shown = empty_shop.ask("GET", "/received")
    assert "forged or damaged" in shown
    assert "signature verified" not in shown


def test_a_body_without_end_is_not_read(empty_shop: Client) -> None:
    length = {"Content-Length": "100000000"}
    assert empty_shop.ask("POST", "/webhook", b"", **length)[0] == 413


def test_buying_opens_the_checkout_and_the_shop_thanks_once_it_is_paid(
    empty_shop: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def create(api: GatewayApi, path: str, body: Any) -> Any:
        asked.append(body)
        return {"id": "chk_live_1", "checkout_url": "http://pay.example/c/1"}

    monkeypatch.setattr(GatewayApi, "post", create)
    assert empty_shop.follow("/buy", sku="coffee") == ("http://pay.example/c/1", 303)
    back = asked[0]["redirect_url"].removeprefix(f"http://{empty_shop.host}")
    unpaid = "Your order: Coffee beans"
    for path in ("/", f"{back}&checkout_id=chk_live_1&status=pending"):
        page = empty_shop.ask("GET", path)[1]
        assert unpaid in page
        assert "Thank you" not in page
    hear_of_payment(empty_shop)
    assert unpaid not in empty_shop.ask("GET", "/")[1]
    page = empty_shop.ask("GET", f"{back}&checkout_id=chk_live_1&status=completed")[1]
    assert "Thank you for order" in page
    assert unpaid not in page


def test_where_no_chain_runs_the_shop_sells_with_the_test_key(
    empty_shop: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = []

    def create(api: GatewayApi, path: str, body: Any) -> Any:
        keys.append(api.key)
        return {"id": "chk_test_1", "checkout_url": "http://pay.example/c/1"}

    monkeypatch.setattr(GatewayApi, "post", create)
    assert "checkouts are made with the test key" in empty_shop.ask("GET", "/")[1]
    assert empty_shop.follow("/buy", sku="coffee")[1] == 303
    assert keys == [CREDENTIALS.test_key]


REFUND = {"id": "po_live_1", "amount": "18.500000", "token": "USDC"}
CLAIM = "http://pay.example/r/1?a=1&b=2"


@pytest.mark.parametrize(
    ("chains", "recipient"),
    [({"base": {"tokens": {"USDC": "0x1"}}}, {"email": CUSTOMER}), ({}, {})],
    ids=["live", "test"],
)
def test_a_paid_order_is_refunded_by_its_button(
    chains: dict[str, dict[str, object]], recipient: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Any]] = []
    answers = {
        "/checkouts": {"id": "chk_live_1", "checkout_url": "http://pay.example/c/1"},
        "/refunds": REFUND | {"status": "open", "claim_url": CLAIM},
    }

    def post(api: GatewayApi, path: str, body: Any) -> Any:
        asked.append((path, body))
        return answers[path]

    monkeypatch.setattr(GatewayApi, "post", post)
    with contextmanager(serve)(chains) as shop:
        shop.follow("/buy", sku="coffee")
        number = asked[0][1]["metadata"]["order_ref"]
        assert "/refund-order" not in shop.ask("GET", "/")[1]
        status, page = shop.submit("/refund-order", number=number)
        assert (status, "knows no paid order" in page) == (400, True)
        hear_of_payment(shop)
        assert f'name="number" value="{number}"' in shop.ask("GET", "/")[1]
        status, page = shop.submit("/refund-order", number=number)
        assert (status, "Refund po_live_1 of 18.500000 USDC is open." in page) == (200, True)
        assert 'href="http://pay.example/r/1?a=1&amp;b=2"' in page
        assert asked[1:] == [("/refunds", {"source": {"checkout": "chk_live_1"}, "reference": number} | recipient)]
        # Its address cannot change any more.
        answers["/refunds"] = REFUND | {"status": "paid", "claim_url": CLAIM}
        page = shop.submit("/refund-order", number=number)[1]
        assert "Refund po_live_1 of 18.500000 USDC is paid." in page
        assert "pay.example/r/" not in page


def hear_of_payment(shop: Client) -> None:
    """Tell the shop that its checkout is paid, as Florin does."""
    body = b'{"type": "checkout.completed", "checkout_id": "chk_live_1"}'
    assert (
        shop.ask("POST", "/webhook", body, **{"X-Service-Signature": signed(body, at=str(int(time.time())))})[0] == 200
    )


def test_a_refund_that_florin_refuses_is_said_in_words(empty_shop: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def post(api: GatewayApi, path: str, body: Any) -> Any:
        if path == "/refunds":
            message = "Florin answered 409: This payment is not <final> yet."
            raise GatewayError(message, code="state_conflict")
        return {"id": "chk_live_1", "checkout_url": "http://pay.example/c/1"}

    monkeypatch.setattr(GatewayApi, "post", post)
    empty_shop.follow("/buy", sku="coffee")
    hear_of_payment(empty_shop)
    [number] = re.findall(r'name="number" value="([^"]+)"', empty_shop.ask("GET", "/")[1])
    status, page = empty_shop.submit("/refund-order", number=number)
    assert (status, "This payment is not &lt;final&gt; yet." in page) == (400, True)


def test_no_other_site_asks_for_a_refund(empty_shop: Client) -> None:
    assert empty_shop.ask("POST", "/refund-order", b"number=1", Origin="http://evil.example")[0] == 403


def test_a_gateway_that_is_away_is_said_in_words(empty_shop: Client) -> None:
    status, page = empty_shop.submit("/buy", sku="coffee")
    assert status == 502
    assert "Florin does not answer" in page


def test_what_the_shop_does_not_sell_cannot_be_bought(empty_shop: Client) -> None:
    assert "does not sell that" in empty_shop.submit("/buy", sku="moon")[1]


@pytest.mark.parametrize("path", ["/absent", "/../demo.json"])
def test_other_paths_are_not_found(empty_shop: Client, path: str) -> None:
    assert empty_shop.ask("GET", path)[0] == 404
    assert empty_shop.submit(path)[0] == 404


@pytest.mark.parametrize("path", ["/shop.css", "/shop.js"])
def test_the_page_has_its_files(empty_shop: Client, path: str) -> None:
    assert empty_shop.ask("GET", path)[0] == 200


def test_the_wallet_sends_a_real_transfer(shop_on_base: Client, base_node: Anvil) -> None:
    form = {"chain": "base", "token": "USDC", "to": BUYER, "amount": "18.500001"}
    status, page = shop_on_base.submit("/pay", **form)
    assert (status, "Sent in transaction 0x" in page) == (200, True)
    assert balance_of(base_node, token_address("USDC"), BUYER) == 18_500_001


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"chain": "solana"}, "no such chain"),
        ({"token": "USDT"}, "holds no USDT"),
        ({"to": "0x12"}, "40 hexadecimal digits"),
        ({"to": "nobody"}, "40 hexadecimal digits"),
        ({"amount": "0"}, "positive number"),
        ({"amount": "-1"}, "positive number"),
        ({"amount": "0.0000001"}, "positive number"),
        ({"amount": "NaN"}, "positive number"),
        ({"amount": "Infinity"}, "positive number"),
        ({"amount": "1e99"}, "positive number"),
        ({"amount": "1e999999"}, "positive number"),
        ({"amount": "much"}, "positive number"),
        ({"amount": "999999999999"}, "did not take"),
    ],
)
def test_the_wallet_says_why_it_does_not_pay(
    shop_on_base: Client, base_node: Anvil, wrong: dict[str, str], message: str
) -> None:
    right = {"chain": "base", "token": "USDC", "to": BUYER, "amount": "1"}
    before = balance_of(base_node, token_address("USDC"), payer(base_node).address)
    status, page = shop_on_base.submit("/pay", **(right | wrong))
    assert (status, message in page) == (400, True)
    after = balance_of(base_node, token_address("USDC"), payer(base_node).address)
    assert after == before


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Host": "evil.example"}])
def test_the_wallet_obeys_no_other_site(shop_on_base: Client, base_node: Anvil, headers: dict[str, str]) -> None:
    form = urlencode({"chain": "base", "token": "USDC", "to": BUYER, "amount": "1"})
    assert shop_on_base.ask("POST", "/pay", form.encode(), **headers)[0] == 403
    assert balance_of(base_node, token_address("USDC"), BUYER) == 0


def test_the_page_offers_three_products(empty_shop: Client) -> None:
    status, page = empty_shop.ask("GET", "/")
    assert status == 200
    assert page.count('action="/buy"') == 3


@pytest.mark.parametrize("body", [b"", b"[]", b"[" * 100_000, NESTED, b"\xff\x00", b"<script>alert(1)</script>"])
def test_no_webhook_body_breaks_the_page_or_gets_into_it(empty_shop: Client, body: bytes) -> None:
    assert empty_shop.ask("POST", "/webhook", body)[0] == 400
    status, page = empty_shop.ask("GET", "/")
    assert status == 200
    assert "<script>alert" not in page


def test_the_note_of_thanks_is_shown_as_text(empty_shop: Client) -> None:
    _, page = empty_shop.ask("GET", "/?order=%3Cimg%20src%3Dx%3E&status=completed")
    assert "Thank you for order &lt;img src=x&gt;." in page


def test_the_logo_is_the_same_square_picture_each_time() -> None:
    drawn = shop_logo()
    assert drawn == shop_logo()
    picture = Image.open(io.BytesIO(drawn))
    assert (picture.format, picture.size) == ("PNG", (512, 512))
    assert picture.convert("RGB").getpixel((0, 0)) == tuple(bytes.fromhex(GREEN[1:]))
