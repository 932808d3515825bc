"""A shop plugin for BTCPay Server: it asks as the published PHP library does, and reads as strictly as that declares its types."""

import json
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.scopes import Scope
from greenfield.models import Connection
from greenfield.permissions import scopes_of
from tests.contract.client import some_address
from tests.factories import make_key, make_live_chain, make_merchant, make_wallet

WOO_REQUIRED = (
    "btcpay.store.canviewinvoices",
    "btcpay.store.cancreateinvoice",
    "btcpay.store.canviewstoresettings",
    "btcpay.store.canmodifyinvoices",
)
WOO_OPTIONAL = ("btcpay.store.cancreatenonapprovedpullpayments", "btcpay.store.webhooks.canmodifywebhooks")
WOO = WOO_REQUIRED + WOO_OPTIONAL
"""What WooCommerce's plugin asks for, of commit 2a8fd70: the first four are compared exactly."""

PRESTASHOP = (
    "btcpay.store.canmodifystoresettings",
    "btcpay.store.webhooks.canmodifywebhooks",
    "btcpay.store.canviewstoresettings",
    "btcpay.store.cancreateinvoice",
    "btcpay.store.canviewinvoices",
    "btcpay.store.canmodifyinvoices",
)
"""What PrestaShop's plugin asks for, of commit f9b2914."""

MAGENTO = (
    "btcpay.store.canviewinvoices",
    "btcpay.store.cancreateinvoice",
    "btcpay.store.webhooks.canmodifywebhooks",
    "btcpay.store.canviewstoresettings",
    "btcpay.store.canmodifyinvoices",
)
"""What Magento's plugin asks for, of commit 4d161f8."""

SHOPWARE = (
    "btcpay.store.cancreateinvoice",
    "btcpay.store.canviewinvoices",
    "btcpay.store.webhooks.canmodifywebhooks",
    "btcpay.store.canviewstoresettings",
)
"""What Shopware's plugin asks for, of commit ae77ae84."""

OPENCART = (
    "btcpay.store.canviewinvoices",
    "btcpay.store.cancreateinvoice",
    "btcpay.store.canviewstoresettings",
    "btcpay.store.webhooks.canmodifywebhooks",
)
"""What the requests of OpenCart's plugin need, of commit 9e87e5e: it has no consent page, and people enter a key."""

PREFIX = "/btcpay/api/v1"


@dataclass
class Plugin:
    """Asks with a key of one store, from an address of its own."""

    key: str
    merchant: Merchant
    mode: Mode = Mode.TEST
    address: str = field(default_factory=some_address)

    @property
    def store(self) -> str:
        """The path of the store."""
        return f"/stores/{self.merchant.public_id}"

    def send(self, method: str, path: str, body: Any = None, **headers: Any) -> Any:
        """Send a request as the library does: JSON, also as the type of a request without a body."""
        headers.setdefault("HTTP_AUTHORIZATION", f"token {self.key}")
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        client = Client(raise_request_exception=False, REMOTE_ADDR=self.address)
        answer = client.generic(method, PREFIX + path, sent, "application/json", **headers)
        assert answer["Cache-Control"] == "no-store"
        assert answer["Content-Type"] == "application/json"
        return answer

    def get(self, path: str, query: str = "") -> Any:
        """Read what must be there."""
        return self._read(self.send("GET", path, QUERY_STRING=query))

    def post(self, path: str, body: Any) -> Any:
        """Send what must be taken."""
        return self._read(self.send("POST", path, body))

    def put(self, path: str, body: Any) -> Any:
        """Change what must be there."""
        return self._read(self.send("PUT", path, body))

    def order(self, order_id: Any = "1001", amount: Any = "25.00", **more: Any) -> Any:
        """An invoice of an order, as WooCommerce's plugin makes it, with `more` beside."""
        body = {
            "amount": amount,
            "currency": "USD",
            "metadata": {"orderId": order_id, "taxIncluded": 0, "posData": '{"WooCommerce":{}}'},
            "checkout": {
                "speedPolicy": None,
                "paymentMethods": None,
                "expirationMinutes": None,
                "monitoringMinutes": None,
                "paymentTolerance": None,
                "redirectURL": "https://shop.example/thanks?key=1",
                "redirectAutomatically": None,
                "defaultLanguage": None,
            },
        }
        return self.post(f"{self.store}/invoices", body | more)

    def refusal(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of a request that is refused."""
        answer = self.send(method, path, body)
        assert answer.status_code >= 400
        return answer.status_code, json.loads(answer.content)

    def _read(self, answer: Any) -> Any:
        # The library takes no other status, not even 201 and 204.
        assert answer.status_code == 200, answer.content
        return json.loads(answer.content)


def make_plugin(
    merchant: Merchant | None = None, mode: Mode = Mode.TEST, permissions: tuple[str, ...] = WOO, **names: str
) -> Plugin:
    """A plugin with a key as the consent page makes it."""
    merchant = merchant or make_merchant()
    key, secret = make_key(merchant, mode, *scopes_of(permissions))
    Connection.objects.create(api_key=key, permissions=list(permissions), **names)
    return Plugin(secret, merchant, mode)


def make_scoped(merchant: Merchant, *scopes: Scope, mode: Mode = Mode.TEST) -> Plugin:
    """A plugin with a key that no consent page made."""
    _, secret = make_key(merchant, mode, *scopes)
    return Plugin(secret, merchant, mode)


def make_live_plugin(permissions: tuple[str, ...] = WOO, merchant: Merchant | None = None) -> Plugin:
    """A plugin in live mode whose store takes money on Base and Polygon. `local_nodes` names their nodes."""
    merchant = merchant or make_merchant()
    for chain in ("base", "polygon"):
        make_live_chain(chain)
        make_wallet(merchant, chain)
    return make_plugin(merchant, Mode.LIVE, permissions)
