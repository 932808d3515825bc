"""The money path, whole: a live key, the hosted page in Chromium, a wallet, a chain, a signed webhook.

Everything is what `manage.py demo` starts; nothing on the path is simulated.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import standardwebhooks
import stripe
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import StubWallet
from tests.demo.running import Running, ask, running, var_folder
from tests.nodes.anvil import Anvil
from tests.nodes.tokens import balance_of
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("demo")]

CONFIRMED_WITHIN_MS = 90_000
PRICE_UNITS = 25_000_000


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
                self.wfile.write(
                    b"<!doctype html><link rel=icon href='data:,'><title>Thanks</title>"
                )

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of_type(self, event_type: str) -> list[tuple[dict[str, str], bytes]]:
        """What arrived of one type, in order."""
        return [(h, b) for h, b in self.requests if json.loads(b)["type"] == event_type]


@pytest.fixture(scope="module")
def demo() -> Iterator[Running]:
    with var_folder() as var, running(var, "demo") as started:
        started.await_line("Florin is ready")
        yield started


@pytest.fixture
def settings(demo: Running) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((demo.var / "demo.json").read_text())
    return document


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    shop = Receiver()
    yield shop
    shop.server.shutdown()
    shop.server.server_close()


def node_of(settings: dict[str, Any], chain: str) -> Anvil:
    """A handle on the demo's own node."""
    facts = settings["chains"][chain]
    return Anvil(
        facts["chain_id"], port=int(facts["rpc_url"].rstrip("/").rpartition(":")[2])
    )


def create(
    settings: dict[str, Any], receiver: Receiver, **fields: Any
) -> dict[str, Any]:
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
    settings: dict[str, Any],
    receiver: Receiver,
    open_context: Callable[..., BrowserContext],
) -> None:
    node, buyer = (
        node_of(settings, "base"),
        settings["chains"]["base"]["funded_address"],
    )
    await_background_work(settings)
    checkout = create(settings, receiver)
    page = open_context().new_page()
    StubWallet(account=buyer, chain_id=1, answer=node.call).install(page)
    page.goto(checkout["checkout_url"])
    page.get_by_role("button", name="Test Wallet").click()
    follow_to_the_shop(page, receiver, checkout["id"])

    [(headers, body)] = told(receiver, "checkout.completed")
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


def follow_to_the_shop(page: Page, receiver: Receiver, checkout_id: str) -> None:
    """Watch the page through its states until it sends the buyer back, two seconds after success."""
    confirming = page.get_by_text(re.compile("of 12 confirmations"))
    expect(confirming).to_be_visible(timeout=CONFIRMED_WITHIN_MS)
    complete = page.get_by_role("heading", name="Payment complete")
    expect(complete).to_be_visible(timeout=CONFIRMED_WITHIN_MS)
    completed_at = time.monotonic()
    page.wait_for_url(f"{receiver.url}/thanks**", timeout=5_000)
    assert 1.5 < time.monotonic() - completed_at < 3.0
    query = parse_qs(urlsplit(page.url).query)
    assert query == {
        "cart": ["7"],
        "checkout_id": [checkout_id],
        "status": ["completed"],
    }


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

    wait_until(is_completed, seconds=60, pause=0.6)


def told(receiver: Receiver, event_type: str) -> list[tuple[dict[str, str], bytes]]:
    wait_until(lambda: receiver.of_type(event_type), seconds=15)
    return receiver.of_type(event_type)


def assert_verifies(secret: str, headers: dict[str, str], body: bytes) -> None:
    """Both published verifiers accept the request, and neither accepts it changed by one byte."""
    signature = headers["X-Service-Signature"]
    assert stripe.WebhookSignature.verify_header(
        body.decode(), signature, secret, tolerance=300
    )
    lowered = {name.lower(): value for name, value in headers.items()}
    assert standardwebhooks.Webhook(secret).verify(body, lowered)
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.WebhookSignature.verify_header(
            body.decode() + " ", signature, secret, tolerance=300
        )
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(secret).verify(body + b" ", lowered)
