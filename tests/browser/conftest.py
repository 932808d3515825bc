"""Chromium for the tests: real pages, and a failure for whatever the browser complains about."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from checkouts.models import Checkout
from tests.browser.dashboard import log_in_browser
from tests.dashboard.people import Desk
from tests.timed import timing
from tests.waiting import wait_until

# Playwright's own loop runs in the tests' thread, and Django takes that for asynchronous code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

PATIENCE = 30_000
"""Milliseconds that a page may take on a busy machine. Playwright's own 5,000 suit a quiet one."""
expect.set_options(timeout=PATIENCE)

# Playwright's own list, which ours takes the place of.
PLAYWRIGHT_WITHOUT = [
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
]
# Pages and processes that Chromium prepares with each window for somebody who types an address: more work than ours.
WITHOUT = [*PLAYWRIGHT_WITHOUT, "SpareRendererForSitePerProcess", "WebUIOmniboxAimPopup", "WebUIOmniboxPopup"]
CHROMIUM_FLAGS = [
    f"--disable-features={','.join(WITHOUT)}",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
# The script that guides to wallet apps is loaded after the page: this waits for it, and for what its own importer does with it.
GUIDED = "import('/static/js/apps.js').then(() => {})"

REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP: ${event.effectiveDirective} ${event.blockedURI}`);
});
"""

# A wallet as an extension would inject it, whose answers come from Python.
ANNOUNCE_WALLET = """
(() => {
  const provider = {
    async request({ method, params }) {
      const answer = JSON.parse(await window.__wallet(JSON.stringify([method, params ?? []])));
      if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
      return answer.result;
    },
    on() {},
    removeListener() {},
  };
  const info = Object.freeze({ uuid: NAME, name: NAME, icon: "data:,", rdns: "test.wallet" });
  const detail = Object.freeze({ info, provider });
  const announce = () =>
    dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  addEventListener("eip6963:requestProvider", announce);
  announce();
})();
"""


class WalletRefusalError(Exception):
    """What the stub wallet answers with an EIP-1193 error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


Answer = Callable[[str, list[Any]], Any]


@dataclass
class StubWallet:
    """A browser wallet. `answer` gets every call it does not know itself, such as a node's `call` method.

    It holds `account`, starts on `chain_id` and switches when asked to.
    """

    account: str
    chain_id: int
    answer: Answer
    name: str = "Test Wallet"
    calls: list[tuple[str, list[Any]]] = field(default_factory=list)

    def install(self, page: Page) -> None:
        """Announce the wallet on every page loaded from now on, past the page's own policy."""
        page.expose_function("__wallet", self._call)
        page.add_init_script(ANNOUNCE_WALLET.replace("NAME", json.dumps(self.name)))

    def named(self, method: str) -> list[list[Any]]:
        """The parameters of each call of a method."""
        return [params for called, params in self.calls if called == method]

    def _call(self, request: str) -> str:
        method, params = json.loads(request)
        self.calls.append((method, params))
        try:
            return json.dumps({"result": self._result(method, params)})
        except WalletRefusalError as error:
            return json.dumps({"error": {"code": error.code, "message": str(error)}})

    def _result(self, method: str, params: list[Any]) -> Any:
        if method in {"eth_requestAccounts", "eth_accounts"}:
            return [self.account]
        if method == "eth_chainId":
            return hex(self.chain_id)
        if method == "wallet_switchEthereumChain":
            self.chain_id = int(params[0]["chainId"], 16)
            return None
        return self.answer(method, params)


def find_chromium() -> str:
    """The browser's program: `CHROMIUM`, or one that is installed."""
    names = [
        os.environ.get("CHROMIUM", ""),
        # Chromium without its windows: it opens a page in half the time.
        "chromium-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
    ]
    found = [path for name in names if name and (path := shutil.which(name))]
    assert found, "no Chromium: install the package chromium, or set CHROMIUM"
    return found[0]


# No wider: while it is open its loop counts as running, and tests elsewhere could not run one of their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium for the tests of this folder."""
    with sync_playwright() as playwright:
        with timing("browser starts"):
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def live_server(django_db_setup: None, django_db_blocker: Any, live_server: LiveServer) -> LiveServer:
    """The server, made after the database and so ended before it: its threads hold connections."""
    del django_db_setup
    # The first answer imports every route, which on a busy machine takes longer than a page may take to load.
    with django_db_blocker.unblock():
        assert Client().get("/c/none").status_code == 404
    return live_server


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained about. A test that provokes a complaint takes it out again."""
    return []


@pytest.fixture
def open_context(
    request: pytest.FixtureRequest, browser: Browser, complaints: list[str]
) -> Iterator[Callable[..., BrowserContext]]:
    """Open a browser profile with Playwright's options; any complaint in it fails the test at its end."""
    # Asked for here, the server outlives the pages: emptying the tables under a page that polls is a deadlock.
    served = "live_server" in request.fixturenames
    if served:
        request.getfixturevalue("live_server")
    contexts: list[BrowserContext] = []

    def open_one(**options: Any) -> BrowserContext:
        context = browser.new_context(**({"viewport": DESKTOP, "locale": "en-US"} | options))
        context.set_default_timeout(PATIENCE)
        context.add_init_script(REPORT_VIOLATIONS)
        context.on("page", lambda page: _listen(page, complaints))
        contexts.append(context)
        return context

    yield open_one
    for context in contexts:
        context.close()
    if served:
        wait_until(nobody_else_asks)
    assert complaints == []


@pytest.fixture
def open_desk(open_context: Callable[..., BrowserContext], live_server: LiveServer) -> Callable[..., Page]:
    """Open a page of the dashboard as somebody; `arguments` are its route's, further options Playwright's."""

    def open_one(desk: Desk, name: str, arguments: dict[str, str] | None = None, **options: Any) -> Page:
        context = open_context(**({"reduced_motion": "reduce"} | options))
        log_in_browser(context, live_server.url, desk.user)
        page = context.new_page()
        page.goto(live_server.url + desk.url(name, **(arguments or {})))
        return page

    return open_one


def nobody_else_asks() -> bool:
    """Whether the live server's threads are done with what the closed pages had asked for."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state <> 'idle'"
        )
        return bool(cursor.fetchone()[0] == 0)


@pytest.fixture
def page(open_context: Callable[..., BrowserContext]) -> Page:
    """A page at desktop size that may use the clipboard."""
    context = open_context(permissions=["clipboard-read", "clipboard-write"])
    return context.new_page()


@pytest.fixture
def open_phone(open_context: Callable[..., BrowserContext], live_server: LiveServer) -> Callable[..., Page]:
    """Open a checkout's page on a phone, where every web address but ours is answered with nothing."""

    def open_one(checkout: Checkout, query: str = "", *, script: str = "", clock: bool = False, **options: Any) -> Page:
        given = {"viewport": PHONE, "is_mobile": True, "has_touch": True, "reduced_motion": "reduce"}
        context = open_context(**(given | options))
        context.route(lambda url: url.startswith("https://"), lambda route: route.fulfill(status=204, body=""))
        if script:
            context.add_init_script(script)
        page = context.new_page()
        if clock:
            page.clock.install(time=0)
            page.clock.pause_at(1)
        page.goto(f"{live_server.url}/c/{checkout.code}{query}")
        if options.get("java_script_enabled", True):
            page.evaluate(GUIDED)
        return page

    return open_one


@pytest.fixture
def still_page(open_context: Callable[..., BrowserContext]) -> Page:
    """A page that nothing moves on."""
    return open_context(device_scale_factor=2, reduced_motion="reduce").new_page()


def _listen(page: Page, complaints: list[str]) -> None:
    def failed(request: Request) -> None:
        # Leaving a page cancels what it still asks for; what a policy stops is heard on the console, and where
        # scripts are switched off it is no complaint.
        if request.failure not in {"net::ERR_ABORTED", "csp"}:
            complaints.append(f"{request.url}: {request.failure}")

    page.on("console", lambda message: _hear(message.type, message.text, complaints))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", failed)


def _hear(kind: str, text: str, complaints: list[str]) -> None:
    if kind in {"error", "warning"}:
        complaints.append(text)
