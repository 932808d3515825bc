"""The first view of a checkout page in Chromium: bytes over the network, and when its largest part is painted.

The browser has no cache, a network of 8.1 Mbit/s with 165 ms for each answer, and a processor four times as slow. The page
comes from `manage.py up`: without a proxy and without TLS.
"""

import json
from dataclasses import dataclass, field
from http.client import HTTPConnection
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import ViewportSize, sync_playwright

from benchmarks import stack
from benchmarks.memory import services
from benchmarks.report import Claim, Report, Series

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MOST_KB, MOST_KB_WITHOUT_FONTS, MOST_MS = 60, 16, 800
_KB: Final = 1024
_PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
# Source: "Fast 4G" of Chromium's developer tools.
_NETWORK: Final = {
    "offline": False,
    "latency": 165,
    "downloadThroughput": 9_000_000 * 0.9 / 8,
    "uploadThroughput": 1_500_000 * 0.9 / 8,
}
_SLOWER: Final = 4
_NOTE_PAINTS: Final = """
window.painted = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) painted = entry.startTime; })
  .observe({ type: "largest-contentful-paint", buffered: true });
"""
# The observer is told of a paint after it.
_SETTLING_MS: Final = 500


@dataclass
class _Transfer:
    """What a page's requests received, in bytes."""

    kinds: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    headers: int = 0

    def answered(self, event: dict[str, Any]) -> None:
        """Note what kind of resource a request is for; of its answer, only the headers came so far."""
        self.kinds[event["requestId"]] = event["type"]
        self.headers += event["response"]["encodedDataLength"]

    def finished(self, event: dict[str, Any]) -> None:
        """Note how much a request received, headers included."""
        self.sizes[event["requestId"]] = event["encodedDataLength"]

    def kilobytes(self, *, fonts: bool) -> float:
        """Return the sum in KB of 1,024 bytes, with or without fonts."""
        chosen = (
            size
            for request, size in self.sizes.items()
            if fonts or self.kinds[request] != "Font"
        )
        return sum(chosen) / _KB

    def kilobytes_of_headers(self) -> float:
        """Return the part that HTTP/2, which a proxy speaks to browsers, compresses."""
        return self.headers / _KB


def run(*, rounds: int, seconds: float) -> list[Report]:
    """View the page of a new checkout, `rounds` times; `seconds` changes nothing."""
    del seconds
    whole, bare = Series("first view", "KB"), Series("first view without fonts", "KB")
    headers = Series("headers of HTTP/1.1, in both", "KB")
    painted = Series("largest contentful paint", "ms")
    # Production compresses static files.
    production = {"FLORIN_ENV": "production", "SECRET_KEY": token_hex(32)}
    with stack.engines(**production):
        _, key = stack.seed_merchant()
        from tests.browser.conftest import CHROMIUM_FLAGS, find_chromium

        with services() as port, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=find_chromium(), args=CHROMIUM_FLAGS
            )
            path = _open_checkout(port, key)
            _view(browser, path)
            for _ in range(rounds):
                transfer, paint = _view(browser, path)
                whole.rounds.append(transfer.kilobytes(fonts=True))
                bare.rounds.append(transfer.kilobytes(fonts=False))
                headers.rounds.append(transfer.kilobytes_of_headers())
                painted.rounds.append(paint)
            browser.close()
    claims = [
        Claim(f"{one.name}, {one.unit}", one.median, most, at_most=True)
        for one, most in (
            (whole, MOST_KB),
            (bare, MOST_KB_WITHOUT_FONTS),
            (painted, MOST_MS),
        )
    ]
    series = [whole, bare, headers, painted]
    return [Report("checkout page, first view", series, claims)]


def _open_checkout(port: int, key: str) -> str:
    """Create a checkout; return the address of its page."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    body = json.dumps({"amount": "49.00", "currency": "USD"})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", "/api/v1/checkouts", body, headers)
    made = json.load(connection.getresponse())
    connection.close()
    return str(made["checkout_url"])


def _view(browser: "Browser", url: str) -> tuple[_Transfer, float]:
    """Open a page with nothing cached; return what it received, and when its largest part was painted, in ms."""
    transfer = _Transfer()
    context = browser.new_context(viewport=_PHONE)
    page = context.new_page()
    page.add_init_script(_NOTE_PAINTS)
    tools = context.new_cdp_session(page)
    tools.on("Network.responseReceived", transfer.answered)
    tools.on("Network.loadingFinished", transfer.finished)
    tools.send("Network.enable")
    tools.send("Network.emulateNetworkConditions", _NETWORK)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": _SLOWER})
    page.goto(url, wait_until="load")
    page.wait_for_timeout(_SETTLING_MS)
    painted = float(page.evaluate("painted"))
    context.close()
    return transfer, painted
