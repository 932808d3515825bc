"""`python -m demo.shop PORT SETTINGS_FILE`: a shop that uses Florin as a merchant does.

It creates checkouts through the public API, and shows the webhooks it received,
after checking their signatures.
"""

import json
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from demo import pages
from demo.settings_file import DemoSettings, read_settings
from demo.signature import is_genuine
from demo.wallet import WalletError, pay

HOST = "127.0.0.1"
MAX_BODY = 1_000_000
KEPT_WEBHOOKS = 50
API_SECONDS = 15
SIGNATURE_HEADER = "X-Service-Signature"


class ShopError(Exception):
    """The buyer is told this sentence."""


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
    """The shop's own state: how many orders it took, and the webhooks it received."""

    def __init__(self, settings: DemoSettings) -> None:
        self.settings = settings
        self.received: deque[pages.Received] = deque(maxlen=KEPT_WEBHOOKS)
        self._orders = 0
        self._lock = threading.Lock()

    def buy(self, sku: str) -> str:
        """Create a checkout and return the address of its page. Raises `ShopError`."""
        product = PRODUCTS.get(sku)
        if product is None:
            message = "The shop does not sell that."
            raise ShopError(message)
        order = self._next_order()
        answer = self._post_checkout(
            {
                "amount": product.price,
                "currency": "USD",
                "description": product.name,
                "metadata": {"order_ref": order, "product_ref": sku},
                "redirect_url": f"{self.settings.shop_url}/?thanks={order}",
                "webhook_url": f"{self.settings.shop_url}/webhook",
            }
        )
        return str(answer["checkout_url"])

    def _next_order(self) -> str:
        with self._lock:
            self._orders += 1
            # The start of this process keeps orders of different days apart.
            return f"demo-{int(time.time())}-{self._orders}"

    def _post_checkout(self, body: dict[str, Any]) -> dict[str, Any]:
        credentials = self.settings.credentials
        # Without a chain nobody could pay a live checkout.
        key = credentials.live_key if self.settings.chains else credentials.test_key
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        gateway = urlsplit(self.settings.base_url).netloc
        connection = HTTPConnection(gateway, timeout=API_SECONDS)
        try:
            path = "/api/v1/checkouts"
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, HTTPException) as error:
            message = f"Florin does not answer: {error}"
            raise ShopError(message) from error
        finally:
            connection.close()
        if response.status != HTTPStatus.CREATED:
            message = f"Florin answered {response.status}: {text}"
            raise ShopError(message)
        created: dict[str, Any] = json.loads(text)
        return created

    def hear(self, signature: str, body: bytes) -> bool:
        """Take in a webhook; returns whether its signature is genuine."""
        now = time.time()
        secret = self.settings.credentials.webhook_secret
        genuine = is_genuine(signature, body, secret=secret, now=now)
        self.received.appendleft(pages.Received(at=now, genuine=genuine, body=body))
        return genuine

    def transfer(self, form: dict[str, str]) -> str:
        """Pay with the demo's wallet; returns the hash. Raises `WalletError`."""
        chain = self.settings.chains.get(form.get("chain", ""))
        if chain is None:
            message = "The demo runs no such chain."
            raise WalletError(message)
        token, to = form.get("token", ""), form.get("to", "")
        return pay(chain, token=token, to=to, amount=form.get("amount", ""))


class Handler(BaseHTTPRequestHandler):
    """HTTP in front of a `Shop`."""

    shop: ClassVar[Shop]
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """The page, its files, and the list of webhooks alone."""
        url = urlsplit(self.path)
        if url.path == "/":
            thanks = dict(parse_qsl(url.query)).get("thanks", "")
            note = f"Thank you for order {thanks}." if thanks else ""
            self._page(note)
        elif url.path == "/received":
            self._answer(pages.received_list(self.shop.received))
        elif asset := pages.ASSETS.get(url.path):
            self._answer(asset.text, kind=asset.kind)
        else:
            self._page("There is no such page.", status=HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Buying, paying, and the webhooks."""
        actions = {"/webhook": self._webhook, "/buy": self._buy, "/pay": self._pay}
        action = actions.get(urlsplit(self.path).path)
        body = self._body()
        if body is None:
            self._page("Too much.", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif action is None:
            self._page("There is no such page.", status=HTTPStatus.NOT_FOUND)
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
        except ShopError as error:
            self._page(str(error), status=HTTPStatus.BAD_GATEWAY)
        else:
            self._redirect(checkout_url)

    def _pay(self, body: bytes) -> None:
        try:
            note = f"Sent in transaction {self.shop.transfer(_form(body))}."
        except WalletError as error:
            self._page(str(error), status=HTTPStatus.BAD_REQUEST)
        else:
            self._page(note)

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True
            return None
        return self.rfile.read(int(length))

    def _from_our_page(self) -> bool:
        """Whether a form came from here: the wallet obeys no other site's page."""
        ours = urlsplit(self.shop.settings.shop_url).netloc
        origin = self.headers.get("Origin")
        return self.headers.get("Host") == ours and origin in {None, f"http://{ours}"}

    def _page(self, note: str, *, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._answer(pages.shop_page(self.shop, PRODUCTS, note), status=status)

    def _redirect(self, url: str) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(
        self,
        text: str,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        kind: str = "text/html",
    ) -> None:
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
