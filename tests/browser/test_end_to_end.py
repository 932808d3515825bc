"""The money path, whole: a live key, the hosted page in Chromium, a wallet, a chain, a signed webhook.

Everything is what `manage.py demo` starts; nothing on the path is simulated.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import standardwebhooks
import stripe
from playwright.sync_api import BrowserContext, Page, expect

from gateway.core.money import to_units
from localnet.anvil import Anvil
from localnet.tokens import balance_of
from tests.browser.conftest import StubWallet
from tests.demo.lending import Demos
from tests.demo.running import Running, ask, demo_pay
from tests.waiting import wait_until
from wallets.chains import registry

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("demo")]

CONFIRMED_WITHIN_MS = 90_000
PRICE_UNITS = 25_000_000
UNITS_PER_CENT = 10_000
CHAINS = [facts.name for facts in registry.CHAINS if not facts.is_optional]
DEPOSIT_CHAINS = {"base", "polygon"}


class Receiver:
    """A shop's webhook endpoint, which keeps what arrives as raw bytes."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((dict(self.headers), body))
                self.send_response(200)
                self.end_headers()

            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><link rel=icon href='data:,'><title>Thanks</title>")

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def told(self, checkout_id: str, event_type: str) -> list[tuple[dict[str, str], bytes]]:
        """What arrived of one type about a checkout, in order."""
        wanted = (checkout_id, event_type)
        return [(h, b) for h, b in self.requests if _about(json.loads(b)) == wanted]


def _about(event: dict[str, Any]) -> tuple[str, str]:
    return event["checkout_id"], event["type"]


@dataclass(frozen=True)
class Paid:
    """A checkout paid from the demo's wallet: as created, the option chosen, and the seconds from asking to being told."""

    checkout: dict[str, Any]
    option: dict[str, Any]
    tx_hash: str
    webhook: tuple[dict[str, str], bytes]
    seconds: float


@pytest.fixture(scope="module")
def demo(demos: Demos) -> Running:
    return demos.lend()


@pytest.fixture(scope="module")
def settings(demo: Running) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((demo.var / "demo.json").read_text())
    return document


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    shop = Receiver()
    yield shop
    shop.server.shutdown()
    shop.server.server_close()


def node_of(settings: dict[str, Any], chain: str) -> Anvil:
    """A handle on the demo's own node."""
    facts = settings["chains"][chain]
    return Anvil(facts["chain_id"], port=int(facts["rpc_url"].rstrip("/").rpartition(":")[2]))


def create(settings: dict[str, Any], receiver: Receiver, **fields: Any) -> dict[str, Any]:
    status, checkout = ask(
        settings["base_url"],
        "POST",
        "/api/v1/checkouts",
        key=settings["live_key"],
        body={
            "amount": "25.00",
            "currency": "USD",
            "metadata": {"order": {"id": "A-17", "rate": 1.10}},
            "redirect_url": f"{receiver.url}/thanks?cart=7",
            "webhook_url": f"{receiver.url}/hook",
            **fields,
        },
    )
    assert status == 201, checkout
    return dict(checkout)


def test_a_buyer_pays_with_a_browser_wallet_and_the_shop_is_told(
    settings: dict[str, Any], receiver: Receiver, open_context: Callable[..., BrowserContext]
) -> None:
    node, buyer = (node_of(settings, "base"), settings["chains"]["base"]["funded_address"])
    await_background_work(settings)
    checkout = create(settings, receiver)
    page = open_context().new_page()
    StubWallet(account=buyer, chain_id=1, answer=node.call).install(page)
    page.goto(checkout["checkout_url"])
    page.get_by_role("button", name="Test Wallet").click()
    follow_to_the_shop(page, receiver, checkout["id"])

    [(headers, body)] = told(receiver, checkout["id"], seconds=60)
    assert_verifies(settings["webhook_secret"], headers, body)
    shown = read(settings, checkout["id"])
    event = json.loads(body)
    assert event["checkout_id"] == checkout["id"]
    assert event["data"]["metadata"] == checkout["metadata"]
    assert event["data"]["payment"] == shown["payment"]
    assert shown["status"] == "completed"
    assert shown["payment"]["sender_address"].lower() == buyer.lower()
    usdc = settings["chains"]["base"]["tokens"]["USDC"]
    address = checkout["available_chains"][0]["address"]
    assert balance_of(node, usdc, address) == PRICE_UNITS


@pytest.fixture(scope="module")
def payments(demo: Running, settings: dict[str, Any], receiver: Receiver) -> dict[str, Paid]:
    """A payment on each chain, all at once: Tron's twenty blocks pass while the others are confirmed."""
    await_background_work(settings)

    def pay(chain: str) -> Paid:
        return pay_on(chain, demo, settings, receiver)

    with ThreadPoolExecutor(len(CHAINS)) as pool:
        return dict(zip(CHAINS, pool.map(pay, CHAINS), strict=True))


def pay_on(chain: str, demo: Running, settings: dict[str, Any], receiver: Receiver) -> Paid:
    """Create a checkout, choose the chain and let the demo's wallet pay; return when the shop has heard of it."""
    checkout = create(settings, receiver)
    token = next(iter(settings["chains"][chain]["tokens"]))
    status, option = ask(
        settings["base_url"],
        "POST",
        f"/api/v1/checkouts/{checkout['id']}/options",
        key=settings["live_key"],
        body={"chain": chain, "token": token},
    )
    assert status == 200, option
    started = time.monotonic()
    paid = demo_pay(demo, checkout["id"], "--chain", chain)
    assert paid.returncode == 0, paid.stderr
    [webhook] = told(receiver, checkout["id"], seconds=CONFIRMED_WITHIN_MS / 1000)
    seconds = time.monotonic() - started
    return Paid(checkout, option, paid.stdout.strip(), webhook, seconds)


@pytest.mark.parametrize("chain", CHAINS)
def test_a_payment_on_each_chain_is_seen_confirmed_credited_and_told(
    chain: str, payments: dict[str, Paid], settings: dict[str, Any]
) -> None:
    paid = payments[chain]
    headers, body = paid.webhook
    assert_verifies(settings["webhook_secret"], headers, body)
    event, shown = json.loads(body), read(settings, paid.checkout["id"])
    assert event["data"]["metadata"] == paid.checkout["metadata"]
    assert (shown["status"], shown["exception"]) == ("completed", None)
    [transfer] = shown["transfers"]
    assert event["data"]["payment"] == shown["payment"]
    assert shown["payment"]["tx_hash"] == transfer["tx_hash"] == paid.tx_hash
    assert transfer["chain"] == chain
    assert transfer["amount"] == paid.option["payAmount"]
    assert transfer["confirmations"] >= transfer["required_confirmations"]
    print(f"{chain}: paid, confirmed and told in {paid.seconds:.1f} s")  # noqa: T201


@pytest.mark.parametrize("chain", CHAINS)
def test_where_the_amount_tells_payments_apart_it_is_less_than_a_cent_above_the_price(
    chain: str, payments: dict[str, Paid]
) -> None:
    option = payments[chain].option
    surplus = to_units(Decimal(option["payAmount"])) - PRICE_UNITS
    assert option["exactAmountRequired"] == (chain not in DEPOSIT_CHAINS)
    assert surplus == 0 if chain in DEPOSIT_CHAINS else 0 < surplus < UNITS_PER_CENT


def follow_to_the_shop(page: Page, receiver: Receiver, checkout_id: str) -> None:
    """Watch the page through its states until it sends the buyer back."""
    confirming = page.get_by_text(re.compile("of 12 confirmations"))
    expect(confirming).to_be_visible(timeout=CONFIRMED_WITHIN_MS)
    # It shows that the payment is complete for two seconds only, which a busy machine may need to look.
    page.wait_for_url(f"{receiver.url}/thanks**", timeout=CONFIRMED_WITHIN_MS)
    query = parse_qs(urlsplit(page.url).query)
    assert query == {"cart": ["7"], "checkout_id": [checkout_id], "status": ["completed"]}


def read(settings: dict[str, Any], checkout_id: str) -> dict[str, Any]:
    path = f"/api/v1/checkouts/{checkout_id}"
    status, checkout = ask(settings["base_url"], "GET", path, key=settings["live_key"])
    assert status == 200
    return dict(checkout)


def await_background_work(settings: dict[str, Any]) -> None:
    """Return once workers and beat play their part, which a test checkout that completes shows."""
    base, key = settings["base_url"], settings["test_key"]
    order = {"amount": "1.00", "currency": "USD"}
    _, checkout = ask(base, "POST", "/api/v1/checkouts", key=key, body=order)
    path = f"/api/v1/checkouts/{checkout['id']}"

    def is_completed() -> bool:
        return bool(ask(base, "GET", path, key=key)[1].get("status") == "completed")

    wait_until(is_completed, pause=0.6)


def told(receiver: Receiver, checkout_id: str, *, seconds: float) -> list[tuple[dict[str, str], bytes]]:
    """Wait until the shop hears that a checkout is completed."""
    wait_until(lambda: receiver.told(checkout_id, "checkout.completed"), seconds=seconds)
    return receiver.told(checkout_id, "checkout.completed")


def assert_verifies(secret: str, headers: dict[str, str], body: bytes) -> None:
    """Both published verifiers accept the request, and neither accepts it changed by one byte."""
    signature = headers["X-Service-Signature"]
    assert stripe.WebhookSignature.verify_header(body.decode(), signature, secret, tolerance=300)
    lowered = {name.lower(): value for name, value in headers.items()}
    assert standardwebhooks.Webhook(secret).verify(body, lowered)
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.WebhookSignature.verify_header(body.decode() + " ", signature, secret, tolerance=300)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(secret).verify(body + b" ", lowered)
