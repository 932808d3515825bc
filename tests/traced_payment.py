"""One payment on a local Base, traced through every process, and its picture; `script/trace` writes docs/images/trace.png."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

from cryptography.fernet import Fernet

from demo.gateway_api import GatewayApi
from demo.nodes.factory import prepare_chain
from gateway.tracing.start import first_step_of
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address, transfer
from tests.clerks import Clerk
from tests.collector import Collector, Got, collecting
from tests.demo.running import environment_for, running, var_folder
from tests.installation import CHAIN_IDS, DOLLAR, WALLET
from tests.screenshots import IMAGES, open_browser, small_png
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.webhooks.receiver import receiving

PICTURE: Final = IMAGES / "trace.png"
PAID_SECONDS: Final = PATIENCE_SECONDS
LAST_STEP: Final = "webhook sent"

_LEFT, _WIDE, _ROW, _TOP = 350, 1_000, 26, 34
_STEPS, _MOST_LINES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60), 10
_COLOURS: Final = {
    "florin-web": "#2f6f4f",
    "florin-watchers": "#8a5a00",
    "florin-worker": "#3b5bdb",
    "florin-sender": "#a3195b",
}


@dataclass(frozen=True, slots=True)
class TracedPayment:
    """A paid checkout's id, all spans that the collector got, what they must not have, and a scrape of the web service."""

    checkout_id: str
    collector: Collector
    secrets: Sequence[str] = ()
    scraped: str = ""

    @property
    def steps(self) -> list[Got]:
        """The spans of the payment's own trace."""
        return self.collector.of(_trace(self.checkout_id))

    @property
    def causes(self) -> list[Got]:
        """The spans of the traces that the steps link to, and of those that these link to."""
        known = {_trace(self.checkout_id)}
        waiting = [link for span in self.steps for link in span.links]
        found: list[Got] = []
        while waiting:
            trace = waiting.pop()
            if trace not in known:
                known.add(trace)
                spans = self.collector.of(trace)
                found += spans
                waiting += [link for span in spans if span.name == "payment seen" for link in span.links]
        return found


def _trace(checkout_id: str) -> bytes:
    return first_step_of(checkout_id).trace_id.to_bytes(16)


def pay_traced(collector: Collector, var: Path) -> TracedPayment:
    """Run everything in `var` with a node of Base, pay one checkout, and return once its webhook was sent."""
    with Anvil(CHAIN_IDS["base"]) as node, receiving() as receiver, ExitStack() as exits:
        prepare_chain(node)
        environment = collector.environment | {
            "CHAIN_NETWORK": "local",
            "CHAIN_BASE_RPC_URLS": node.url,
            "CHAIN_BASE_CONFIRMATIONS": "2",
            "CHAIN_BASE_TOKEN_USDC": token_address("USDC"),
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "METRICS_TOKEN": "token",
            "WEBHOOK_ALLOW_LOOPBACK": "true",
        }
        up = exits.enter_context(running(var, "up", **environment))
        up.await_line("Florin answers")
        clerk = Clerk("tests.clerk", environment_for(var) | environment)
        exits.callback(clerk.close)
        made = clerk.ask("set_up", wallets={"base": WALLET}, webhook_url=receiver.url)
        wait_until(lambda: clerk.ask("offered"), seconds=PAID_SECONDS)
        base_url = f"http://127.0.0.1:{up.port}"
        api = GatewayApi(base_url, made["live_key"])
        checkout_id = api.post("/checkouts", {"amount": "10.00", "currency": "USD"})["id"]
        choice = {"chain": "base", "token": "USDC"}
        option = api.post(f"/checkouts/{checkout_id}/options", choice)
        usdc = token_address("USDC")
        transfer(node, payer(node), usdc, option["address"], 10 * DOLLAR)
        node.mine(3)
        paid = TracedPayment(checkout_id, collector)
        wait_until(lambda: _is_whole(paid), seconds=PAID_SECONDS)
        secrets = (made["live_key"], made["webhook_secret"], option["address"], WALLET)
        return replace(paid, secrets=secrets, scraped=_scrape(base_url))


def _scrape(base_url: str) -> str:
    asked = Request(f"{base_url}/metrics", headers={"Authorization": "Bearer token"})
    with urlopen(asked) as answer:
        text: str = answer.read().decode()
        return text


def _is_whole(paid: TracedPayment) -> bool:
    names = {span.name for span in paid.steps}
    causes = {span.name for span in paid.causes}
    return LAST_STEP in names and "payment seen" in causes


@dataclass(slots=True)
class _Row:
    span: Got
    depth: int
    queries: list[Got] = field(default_factory=list)


def _rows(paid: TracedPayment) -> list[_Row]:
    """The rows of the picture: steps below the first one, and other spans but queries, which are ticks on their parents."""
    spans = [*paid.steps, *paid.causes]
    rows = {span.id: _Row(span, 0) for span in spans if "db.system" not in span.attributes}
    for span in spans:
        parent = rows.get(span.parent)
        if parent is not None and "db.system" in span.attributes:
            parent.queries.append(span)
        elif parent is not None and span.id in rows:
            rows[span.id].depth = parent.depth + 1
    return sorted(rows.values(), key=lambda row: (row.span.began, row.depth))


def draw(paid: TracedPayment) -> str:
    """Draw the payment as SVG: a row for each span, time from left to right."""
    rows = _rows(paid)
    began = min(row.span.began for row in rows)
    length = max(row.span.ended for row in rows) - began

    def at(moment: int) -> float:
        return _LEFT + (moment - began) / length * (_WIDE - _LEFT - 40)

    parts = [_ruler(length, len(rows))]
    for number, row in enumerate(rows):
        y = _TOP + number * _ROW
        colour = _COLOURS.get(row.span.process, "#555")
        label = f"{row.span.process.removeprefix('florin-')}: {row.span.name}"
        parts.append(f'<text x="{12 + 14 * row.depth}" y="{y + 16}" fill="{colour}">{escape(label[:52])}</text>')
        parts.append(_bar(at(row.span.began), at(row.span.ended), y + 6, 12, colour, 0.85))
        parts += [_bar(at(each.began), at(each.ended), y + 2, 3, "#222", 0.7) for each in row.queries]
    height = _TOP + len(rows) * _ROW + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{height}" font-family="sans-serif"'
        f' font-size="12"><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>'
    )


def _bar(start: float, end: float, y: float, height: int, colour: str, opacity: float) -> str:
    width = max(end - start, 2)
    return (
        f'<rect x="{start:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="2"'
        f' fill="{colour}" opacity="{opacity}"/>'
    )


def _ruler(length: int, count: int) -> str:
    """Lines at equal distances, few enough to read."""
    seconds = length / 1e9
    step = next(each for each in _STEPS if seconds / each <= _MOST_LINES)
    parts = []
    for number in range(int(seconds / step) + 1):
        second = round(number * step, 1)
        x = _LEFT + second / seconds * (_WIDE - _LEFT - 40)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="24" y2="{_TOP + count * _ROW}" stroke="#ddd"/>'
            f'<text x="{x:.1f}" y="18" fill="#666" text-anchor="middle">{second} s</text>'
        )
    return "".join(parts)


def photograph(svg: str) -> bytes:
    """Return a drawing as PNG."""
    with open_browser() as browser:
        page = browser.new_page(device_scale_factor=2)
        page.set_content(f'<body style="margin:0">{svg}</body>')
        return small_png(page.locator("svg").screenshot())


def main(arguments: Sequence[str]) -> int:
    """Trace a payment and write its picture, to another place than PICTURE if one is named."""
    with collecting() as collector, var_folder() as var:
        svg = draw(pay_traced(collector, var))
    path = Path(next(iter(arguments), PICTURE))
    path.write_bytes(photograph(svg))
    sys.stdout.write(f"{path}: {path.stat().st_size} bytes\n")
    return 0
