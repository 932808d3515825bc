"""The shop's one page and its files."""

import html
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Any, Protocol, Self

import orjson

from demo.machines import report_price
from demo.settings_file import DemoSettings
from wallets.chains.registry import CHAINS

FOLDER = Path(__file__).parent / "assets"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class Asset:
    """A file of the page, with its media type."""

    text: str
    kind: str


ASSETS = {
    "/shop.css": Asset((FOLDER / "shop.css").read_text(), "text/css"),
    "/shop.js": Asset((FOLDER / "shop.js").read_text(), "text/javascript"),
}
PAGE = Template((FOLDER / "shop.html").read_text())

PRODUCT = Template(
    """<li class="product">
  <h3>$name</h3>
  <p>$about</p>
  <form method="post" action="/buy">
    <input type="hidden" name="sku" value="$sku">
    <button>Buy for $$$price</button>
  </form>
</li>"""
)
WEBHOOK = Template(
    """<li class="webhook">
  <p><strong>$kind</strong> <span class="$verdict_class">$verdict</span>
  <time datetime="$at">$clock UTC</time></p>
  <p class="subject">$subject</p>
  <details><summary>Body</summary><pre>$body</pre></details>
</li>"""
)
ORDER = Template((FOLDER / "order.html").read_text())
PAID = Template((FOLDER / "paid.html").read_text())
PAID_ORDER = Template(
    """<li class="product">
  <h3>$name</h3>
  <p>Paid with $$$price. Order $number.</p>
  <form method="post" action="/refund-order">
    <button name="number" value="$number">Refund order $number</button>
  </form>
</li>"""
)
PAY_BUTTON = Template('<button name="chain" value="$chain">Pay on $title</button>')
WALLET = Template((FOLDER / "wallet.html").read_text())
NO_WALLET = "<p>No local chain runs, so checkouts are made with the test key.</p>"
NO_BUTTONS = "<p>It is paid automatically, because the test key created it.</p>"
MACHINES = Template(
    """<p>Machines pay at <a href="$url">$url</a>: $price USDC on the local Base buys a report, by x402.
<code>manage.py demo_x402</code> pays it and prints the receipt.</p>"""
)
NO_MACHINES = "<p>Machines need a local chain to pay on.</p>"
NOTHING_RECEIVED = "<li>Nothing yet. Buy something.</li>"


class ProductLike(Protocol):
    """What the page shows of a product."""

    @property
    def name(self) -> str: ...
    @property
    def price(self) -> str: ...
    @property
    def about(self) -> str: ...


@dataclass(frozen=True)
class Order:
    """An order and the checkout that pays it; `price` in USD."""

    number: str
    name: str
    price: str
    checkout_id: str
    checkout_url: str


@dataclass(frozen=True)
class Refund:
    """A refund as Florin answered it: in a sentence, and where the buyer says where it goes, empty once that cannot change."""

    note: str
    claim_url: str

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return the refund of an answer."""
        facts = {name: answer.get(name) for name in ("id", "amount", "token", "status")}
        claim_url = str(answer.get("claim_url") or "") if facts["status"] in {"open", "requested"} else ""
        asked = " The buyer says where it goes, at" if claim_url else ""
        return cls("Refund {id} of {amount} {token} is {status}.".format(**facts) + asked, claim_url)


@dataclass(frozen=True)
class Received:
    """A webhook as it came in; `at` is the Unix time, `body` whatever was sent."""

    at: float
    genuine: bool
    body: bytes

    @property
    def event(self) -> dict[str, object]:
        """The body as an event; empty where it is none."""
        return _json_object(self.body)


class ShopLike(Protocol):
    """What the page shows of the shop."""

    @property
    def settings(self) -> DemoSettings: ...
    @property
    def received(self) -> Iterable[Received]: ...
    def paid_orders(self) -> Iterable[Order]: ...


def shop_page(
    shop: ShopLike, products: Mapping[str, ProductLike], *, note: str = "", link: str = "", order: Order | None = None
) -> str:
    """The whole page, with a sentence on top when there is a `note`, which may end in a `link`, and how to pay the `order` just taken."""
    return PAGE.substitute(
        note=_note(note, link) if note else "",
        order=_order(order, shop.settings) if order else "",
        paid=_paid(shop.paid_orders()),
        products="\n".join(_product(sku, item) for sku, item in products.items()),
        wallet=_wallet(shop.settings),
        machines=_machines(shop.settings),
        received=received_list(shop.received),
        base_url=html.escape(shop.settings.base_url),
    )


def received_list(received: Iterable[Received]) -> str:
    """The webhooks, the newest first, as list items."""
    # A copy, because other threads add to it.
    return "\n".join(map(_webhook, tuple(received))) or NOTHING_RECEIVED


def _note(note: str, link: str) -> str:
    leads = f' <a href="{html.escape(link)}">{html.escape(link)}</a>' if link else ""
    return f'<p class="note" role="status">{html.escape(note)}{leads}</p>'


def _paid(orders: Iterable[Order]) -> str:
    """The paid orders, each with its button; nothing without one."""
    fields = ({key: html.escape(value) for key, value in asdict(order).items()} for order in orders)
    items = "\n".join(map(PAID_ORDER.substitute, fields))
    return PAID.substitute(orders=items) if items else ""


def _order(order: Order, settings: DemoSettings) -> str:
    fields = {key: html.escape(value) for key, value in asdict(order).items()}
    return ORDER.substitute(fields, buttons=_buttons(settings) or NO_BUTTONS)


def _buttons(settings: DemoSettings) -> str:
    titles = {facts.name: facts.title for facts in CHAINS}
    return "\n".join(
        PAY_BUTTON.substitute(chain=html.escape(name), title=html.escape(titles[name])) for name in settings.chains
    )


def _product(sku: str, item: ProductLike) -> str:
    fields = {"sku": sku, "name": item.name, "price": item.price, "about": item.about}
    return PRODUCT.substitute({k: html.escape(v) for k, v in fields.items()})


def _webhook(received: Received) -> str:
    at = datetime.fromtimestamp(received.at, UTC)
    event = received.event
    fields = {
        "kind": str(event.get("type", "not an event")),
        "subject": str(event.get("checkout_id", "")),
        "verdict": "signature verified" if received.genuine else "forged or damaged",
        "verdict_class": "genuine" if received.genuine else "forged",
        "at": at.isoformat(),
        "clock": f"{at:%H:%M:%S}",
        "body": _readable(received.body, event) if event else _as_text(received.body),
    }
    return WEBHOOK.substitute({k: html.escape(v) for k, v in fields.items()})


def _json_object(body: bytes) -> dict[str, object]:
    # Not the standard library: signing libraries raise the recursion limit so far that
    # a deeply nested body would end the process.
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _readable(body: bytes, event: dict[str, object]) -> str:
    try:
        return orjson.dumps(event, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:  # nested too deeply
        return _as_text(body)


def _as_text(body: bytes) -> str:
    return body[:2_000].decode(errors="replace")


def _wallet(settings: DemoSettings) -> str:
    if not settings.chains:
        return NO_WALLET
    tokens = sorted({t for chain in settings.chains.values() for t in chain["tokens"]})
    return WALLET.substitute(chains=_choices(settings.chains), tokens=_choices(tokens))


def _machines(settings: DemoSettings) -> str:
    if not settings.report_url:
        return NO_MACHINES
    fields = {"url": html.escape(settings.report_url), "price": report_price.AMOUNT}
    return MACHINES.substitute(fields)


def _choices(names: Iterable[str]) -> str:
    return "".join(f"<option>{html.escape(name)}</option>" for name in names)
