"""The first view of a checkout page in Chromium: bytes over the network, and when its largest part is painted.

The browser has no cache, one of two slow networks, and a processor four times as slow. The page comes from `manage.py up` behind
Caddy, as in `deploy/Caddyfile`: by HTTP/2, which compresses headers.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from socket import socket
from typing import TYPE_CHECKING, Any, Final

import httpx
from playwright.sync_api import ViewportSize, sync_playwright

from benchmarks import stack
from benchmarks.memory import services
from benchmarks.report import Claim, Report, Series
from gateway.processes.stack import STREAM_PORT, comes_true

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MOST_KB = 60
_KB: Final = 1024
_PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
_SLOWER: Final = 4
# Caddy's options for a run beside others: it changes nothing outside its own folder. The file begins with its other options.
_ALONE: Final = """{
	admin off
	auto_https disable_redirects
	skip_install_trust
"""
_NOTE_PAINTS: Final = """
window.painted = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) painted = entry.startTime; })
  .observe({ type: "largest-contentful-paint", buffered: true });
"""
# The observer is told of a paint after it.
_SETTLING_MS: Final = 500


@dataclass(frozen=True, slots=True)
class Network:
    """A slow network: `latency` in ms for each answer, speeds in bits a second; `most_ms`: when the page is painted at the latest."""

    name: str
    latency: int
    down: float
    up: float
    most_ms: int

    def conditions(self) -> dict[str, Any]:
        """Return what Chromium's `Network.emulateNetworkConditions` takes: bytes a second."""
        return {
            "offline": False,
            "latency": self.latency,
            "downloadThroughput": self.down / 8,
            "uploadThroughput": self.up / 8,
        }


NETWORKS: Final = (
    # Source: Chromium's developer tools.
    Network("fast 4G", latency=165, down=9_000_000 * 0.9, up=1_500_000 * 0.9, most_ms=800),
    # The mobile profile of Lighthouse, each answer late by one round trip.
    Network("slow 4G", latency=150, down=1_600_000, up=750_000, most_ms=1_000),
)


@dataclass
class _Transfer:
    """What a page's requests received, in bytes."""

    kinds: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def answered(self, event: dict[str, Any]) -> None:
        """Note what kind of resource a request is for."""
        self.kinds[event["requestId"]] = event["type"]

    def finished(self, event: dict[str, Any]) -> None:
        """Note how much a request received, headers included."""
        self.sizes[event["requestId"]] = event["encodedDataLength"]

    def kilobytes(self, *, fonts: bool) -> float:
        """Return the sum in KB of 1,024 bytes, with or without fonts."""
        chosen = (size for request, size in self.sizes.items() if fonts or self.kinds[request] != "Font")
        return sum(chosen) / _KB


def run(*, rounds: int, seconds: float) -> list[Report]:
    """View the page of a new checkout, `rounds` times on each network in turn; `seconds` changes nothing."""
    del seconds
    whole, bare = Series("first view", "KB"), Series("first view without fonts", "KB")
    painted = {network: Series(f"painted on {network.name}", "ms") for network in NETWORKS}
    public = stack.free_port()
    # Production compresses static files.
    production = {
        "FLORIN_ENV": "production",
        "SECRET_KEY": token_hex(32),
        "BASE_URL": f"https://127.0.0.1:{public}",
        "TRUSTED_PROXIES": "127.0.0.1",
    }
    with stack.engines(**production):
        _, key = stack.seed_merchant()
        from tests.browser.conftest import CHROMIUM_FLAGS, find_chromium
        from tests.weight import MOST_BYTES

        with services() as port, _proxy(public, port), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
            url = _open_checkout(public, key)
            _view(browser, url, NETWORKS[0])
            for _ in range(rounds):
                for network in NETWORKS:
                    transfer, paint = _view(browser, url, network)
                    whole.rounds.append(transfer.kilobytes(fonts=True))
                    bare.rounds.append(transfer.kilobytes(fonts=False))
                    painted[network].rounds.append(paint)
            browser.close()
    # tests/weight.py counts the same, without headers.
    wanted: list[tuple[Series, float]] = [(whole, MOST_KB), (bare, MOST_BYTES / _KB)]
    wanted += [(one, network.most_ms) for network, one in painted.items()]
    claims = [Claim(f"{one.name}, {one.unit}", one.median, most, at_most=True) for one, most in wanted]
    return [Report("checkout page, first view", [one for one, _ in wanted], claims)]


@contextmanager
def _proxy(public: int, port: int) -> Iterator[None]:
    """Run Caddy before the web service at `port`, with a certificate of its own."""
    home = stack.HOME / "caddy"
    home.mkdir()
    text = (stack.ROOT / "deploy" / "Caddyfile").read_text()
    named = {
        "{$FLORIN_HOST} {": f"https://127.0.0.1:{public} {{\n\ttls internal",
        "web1:8000 web2:8000": f"127.0.0.1:{port}",
        "streams:8000": f"127.0.0.1:{port + STREAM_PORT}",
    }
    for name, own in named.items():
        text = text.replace(name, own)
    (home / "Caddyfile").write_text(_ALONE + text.removeprefix("{\n"))
    running = subprocess.Popen(
        ["caddy", "run", "--config", "Caddyfile"],
        cwd=home,
        env=os.environ | {"HOME": str(home), "XDG_DATA_HOME": str(home)},
        stderr=subprocess.DEVNULL,
    )
    try:
        if not comes_true(lambda: _listens(public), 30, pause=0.1):
            raise RuntimeError("Caddy did not start")
        yield
    finally:
        running.terminate()
        running.wait(30)


def _listens(port: int) -> bool:
    with socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _open_checkout(public: int, key: str) -> str:
    """Create a checkout; return the address of its page."""
    answer = httpx.post(
        f"https://127.0.0.1:{public}/api/v1/checkouts",
        json={"amount": "49.00", "currency": "USD"},
        headers={"Authorization": f"Bearer {key}"},
        # Caddy made the certificate just now.
        verify=False,
        timeout=30,
    )
    answer.raise_for_status()
    return str(answer.json()["checkout_url"])


def _view(browser: "Browser", url: str, network: Network) -> tuple[_Transfer, float]:
    """Open a page with nothing cached; return what it received, and when its largest part was painted, in ms."""
    transfer = _Transfer()
    context = browser.new_context(viewport=_PHONE, is_mobile=True, has_touch=True, ignore_https_errors=True)
    page = context.new_page()
    page.add_init_script(_NOTE_PAINTS)
    tools = context.new_cdp_session(page)
    tools.on("Network.responseReceived", transfer.answered)
    tools.on("Network.loadingFinished", transfer.finished)
    tools.send("Network.enable")
    tools.send("Network.emulateNetworkConditions", network.conditions())
    tools.send("Emulation.setCPUThrottlingRate", {"rate": _SLOWER})
    page.goto(url, wait_until="load")
    page.wait_for_timeout(_SETTLING_MS)
    painted = float(page.evaluate("painted"))
    context.close()
    return transfer, painted
