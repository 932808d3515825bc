"""`python -m demo.shop.server PORT SETTINGS_FILE`: a shop that uses Florin as a merchant does.

It creates checkouts through the public API, and shows the webhooks it received,
after checking their signatures.
"""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from demo.gateway_api import GatewayApi, GatewayError
from demo.payments import Wish, chain_entry, pay_checkout
from demo.settings_file import DemoSettings, read_settings
from demo.shop import pages
from demo.shop.signature import is_genuine
from demo.wallet import pay
from demo.wallets.base import WalletError

HOST = "127.0.0.1"
MAX_BODY = 1_000_000
KEPT_WEBHOOKS = 50
KEPT_ORDERS = 200
SIGNATURE_HEADER = "X-Service-Signature"
# Receipts go there, which without a mail server is the worker's output.
BUYER = "buyer@demo.example"


@dataclass(frozen=True)
class Product:
    """Something to buy; `price` in USD as the API takes it."""

    name: str
    price: str
    about: str


PRODUCTS = {
    "postcard": Product("Postcard", "1.00", "Posted by hand from the old town."),
    "coffee": Product("Coffee beans", "18.50", "One pound, roasted on Tuesdays."),
    "print": Product("Framed print", "140.00", "The harbour at dusk, signed."),
}


class Shop:
    """The shop's own state: the orders it took, and the webhooks it received."""

    def __init__(self, settings: DemoSettings) -> None:
        self.settings = settings
        self.received: deque[pages.Received] = deque(maxlen=KEPT_WEBHOOKS)
        self._orders: dict[str, pages.Order] = {}
        self._paid: deque[str] = deque(maxlen=KEPT_ORDERS)
        self._taken = 0
        self._lock = threading.Lock()

    def buy(self, sku: str) -> str:
        """Take an order, create its checkout and return the address of its page. Raises `WalletError`, `GatewayError`."""
        product = PRODUCTS.get(sku)
        if product is None:
            message = "The shop does not sell that."
            raise WalletError(message)
        number = self._next_number()
        checkout = self._api().post(
            "/checkouts",
            {
                "amount": product.price,
                "currency": "USD",
                "description": product.name,
                "metadata": {"order_ref": number, "product_ref": sku},
                "customer_email": BUYER,
                "redirect_url": f"{self.settings.shop_url}/?order={number}",
                "webhook_url": f"{self.settings.shop_url}/webhook",
            },
        )
        self._keep(
            pages.Order(
                number=number,
                name=product.name,
                price=product.price,
                checkout_id=checkout["id"],
                checkout_url=checkout["checkout_url"],
            )
        )
        return str(checkout["checkout_url"])

    def order(self, number: str) -> pages.Order | None:
        """One of the latest orders."""
        return self._orders.get(number)

    def unpaid_order(self) -> pages.Order | None:
        """The latest order, as long as no webhook said that it is paid."""
        with self._lock:
            latest = next(reversed(self._orders.values()), None)
            return latest if latest and latest.checkout_id not in self._paid else None

    def pay_order(self, number: str, chain: str) -> str:
        """Pay an order from the demo's wallet; returns the hash. Raises `WalletError`, `GatewayError`."""
        order = self.order(number)
        if order is None:
            message = "The shop does not know this order any more."
            raise WalletError(message)
        return pay_checkout(self.settings, order.checkout_id, Wish(chain))

    def paid_orders(self) -> list[pages.Order]:
        """Those of the latest orders of which a webhook said that they are paid, the newest first."""
        with self._lock:
            return [order for order in reversed(self._orders.values()) if order.checkout_id in self._paid]

    def refund(self, number: str) -> pages.Refund:
        """Ask for a refund of all that is left of what an order's checkout got; again, for the same refund.

        Raises `WalletError`, `GatewayError`.
        """
        order = next((one for one in self.paid_orders() if one.number == number), None)
        if order is None:
            message = "The shop knows no paid order of this number."
            raise WalletError(message)
        # In test mode links are mailed to the merchant's team alone.
        recipient = {"email": BUYER} if self.settings.chains else {}
        wanted = {"source": {"checkout": order.checkout_id}, "reference": number, **recipient}
        return pages.Refund.of(self._api().post("/refunds", wanted))

    def _api(self) -> GatewayApi:
        credentials = self.settings.credentials
        # Without a chain a live checkout cannot be paid.
        key = credentials.live_key if self.settings.chains else credentials.test_key
        return GatewayApi(self.settings.base_url, key)

    def _next_number(self) -> str:
        with self._lock:
            self._taken += 1
            # The start of this process keeps orders of different days apart.
            return f"demo-{int(time.time())}-{self._taken}"

    def _keep(self, order: pages.Order) -> None:
        with self._lock:
            while len(self._orders) >= KEPT_ORDERS:
                del self._orders[next(iter(self._orders))]
            self._orders[order.number] = order

    def hear(self, signature: str, body: bytes) -> bool:
        """Take in a webhook; returns whether its signature is genuine."""
        now = time.time()
        secret = self.settings.credentials.webhook_secret
        genuine = is_genuine(signature, body, secret=secret, now=now)
        got = pages.Received(at=now, genuine=genuine, body=body)
        self.received.appendleft(got)
        if genuine and got.event.get("type") == "checkout.completed":
            with self._lock:
                self._paid.append(str(got.event.get("checkout_id", "")))
        return genuine

    def transfer(self, form: dict[str, str]) -> str:
        """Send what the form says from the demo's wallet; returns the hash. Raises `WalletError`."""
        return pay(
            chain_entry(self.settings, form.get("chain", "")),
            token=form.get("token", ""),
            to=form.get("to", ""),
            amount=form.get("amount", ""),
            comment=form.get("comment", ""),
        )


class Handler(BaseHTTPRequestHandler):
    """HTTP in front of a `Shop`."""

    shop: ClassVar[Shop]
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """The page, its files, and the list of webhooks alone."""
        url = urlsplit(self.path)
        if url.path == "/":
            self._home(dict(parse_qsl(url.query)))
        elif url.path == "/received":
            self._answer(pages.received_list(self.shop.received))
        elif asset := pages.ASSETS.get(url.path):
            self._answer(asset.text, kind=asset.kind)
        else:
            self._page("Page not found.", status=HTTPStatus.NOT_FOUND)

    def _home(self, asked: dict[str, str]) -> None:
        """The page; Florin leads buyers back to it, and says how their checkout stands."""
        number = asked.get("order", "")
        if number and asked.get("status") == "completed":
            self._page(f"Thank you for order {number}. It is paid.")
        else:
            self._page("", order=self.shop.order(number) or self.shop.unpaid_order())

    def do_POST(self) -> None:
        """Buying, paying, refunds, and the webhooks."""
        actions = {
            "/webhook": self._webhook,
            "/buy": self._buy,
            "/pay-order": self._pay_order,
            "/refund-order": self._refund_order,
            "/pay": self._pay,
        }
        action = actions.get(urlsplit(self.path).path)
        body = self._body()
        if body is None:
            self._page("Too much.", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif action is None:
            self._page("Page not found.", status=HTTPStatus.NOT_FOUND)
        elif action != self._webhook and not self._from_our_page():
            self._page("Use the form on this page.", status=HTTPStatus.FORBIDDEN)
        else:
            action(body)

    def _webhook(self, body: bytes) -> None:
        genuine = self.shop.hear(self.headers.get(SIGNATURE_HEADER, ""), body)
        status = HTTPStatus.OK if genuine else HTTPStatus.BAD_REQUEST
        self._answer("", status=status, kind="text/plain")

    def _buy(self, body: bytes) -> None:
        try:
            checkout_url = self.shop.buy(_form(body).get("sku", ""))
        except (WalletError, GatewayError) as error:
            self._page(str(error), status=HTTPStatus.BAD_GATEWAY)
        else:
            self._redirect(checkout_url)

    def _pay_order(self, body: bytes) -> None:
        form = _form(body)
        number = form.get("order", "")
        self._paid(lambda: self.shop.pay_order(number, form.get("chain", "")), order=self.shop.order(number))

    def _refund_order(self, body: bytes) -> None:
        try:
            refund = self.shop.refund(_form(body).get("number", ""))
        except (WalletError, GatewayError) as error:
            self._page(str(error), status=HTTPStatus.BAD_REQUEST)
        else:
            self._answer(pages.shop_page(self.shop, PRODUCTS, note=refund.note, link=refund.claim_url))

    def _pay(self, body: bytes) -> None:
        self._paid(lambda: self.shop.transfer(_form(body)))

    def _paid(self, send: Callable[[], str], order: pages.Order | None = None) -> None:
        try:
            note = f"Sent in transaction {send()}."
        except (WalletError, GatewayError) as error:
            self._page(str(error), status=HTTPStatus.BAD_REQUEST, order=order)
        else:
            self._page(note, order=order)

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True
            return None
        return self.rfile.read(int(length))

    def _from_our_page(self) -> bool:
        """Whether a form came from this site: other sites' pages must not use the wallet (CSRF)."""
        ours = urlsplit(self.shop.settings.shop_url).netloc
        origin = self.headers.get("Origin")
        return self.headers.get("Host") == ours and origin in {None, f"http://{ours}"}

    def _page(self, note: str, *, status: HTTPStatus = HTTPStatus.OK, order: pages.Order | None = None) -> None:
        page = pages.shop_page(self.shop, PRODUCTS, note=note, order=order)
        self._answer(page, status=status)

    def _redirect(self, url: str) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, text: str, *, status: HTTPStatus = HTTPStatus.OK, kind: str = "text/html") -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", pages.CONTENT_SECURITY_POLICY)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - inherited
        """Write no line per request."""


def _form(body: bytes) -> dict[str, str]:
    return dict(parse_qsl(body.decode(errors="replace")))


def shop_server(port: int, settings: DemoSettings) -> ThreadingHTTPServer:
    """A server for one shop, not yet serving; port 0 lets the system choose."""
    handler = type("ShopHandler", (Handler,), {"shop": Shop(settings)})
    server = ThreadingHTTPServer((HOST, port), handler)
    server.daemon_threads = True
    return server


def main() -> None:
    """Serve until a signal ends the process."""
    port, settings_file = sys.argv[1:]
    shop_server(int(port), read_settings(Path(settings_file))).serve_forever()


if __name__ == "__main__":
    main()
