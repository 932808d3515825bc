"""The page that follows its checkout by a stream, on a server of its own as in the demo, and the one that cannot."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from checkouts.attribution.queue import attribute_transfers
from checkouts.models import Checkout
from tests.checkouts.factories import ADDRESS, make_page_checkout
from tests.checkouts.page.streaming.servers import StreamServer, stream_server
from tests.dashboard.people import make_desk
from tests.factories import make_transfer
from tests.waiting import PATIENCE_SECONDS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("chains_are_well"),
]

SEEN = "Payment seen. Confirming…"
# Every timer the page polls by waits longer.
NEVER_POLL = """
const original = window.setTimeout;
window.setTimeout = (callback, ms, ...rest) => (ms >= 1000 ? 0 : original(callback, ms, ...rest));
"""


@pytest.fixture
def use_streams(live_server: Any, settings: Any, tmp_path: Any) -> Iterator[Callable[..., StreamServer]]:
    """Start a stream server for the live server's pages, and have them name it. Asked for first, it outlives the pages."""
    running = []

    def start(**environment: str) -> StreamServer:
        manager = stream_server(tmp_path, **{"CHECKOUT_HOST": live_server.url} | environment)
        server = manager.__enter__()
        running.append(manager)
        settings.STREAM_URL = f"http://127.0.0.1:{server.port}"
        policy = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
        sources = {"connect-src": ["'self'", settings.STREAM_URL]}
        settings.CONTENT_SECURITY_POLICY = {"DIRECTIVES": policy | sources}
        return server

    yield start
    for manager in running:
        manager.__exit__(None, None, None)


@pytest.fixture
def asked(page: Page) -> list[str]:
    """What the page asks for while it is open: `stream` and `status`, in order."""
    kinds: list[str] = []
    page.on("request", lambda request: kinds.extend(re.findall(r"/(status|stream)$", request.url)))
    return kinds


def await_asked(page: Page, asked: list[str], *wanted: str) -> None:
    """Wait until the page has asked for exactly this; Playwright hears of it while it waits itself."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while asked != list(wanted):
        assert time.monotonic() < deadline, asked
        page.wait_for_timeout(20)


def pay(checkout: Checkout) -> None:
    """Let the money come, and be credited by the services."""
    now = timezone.now()
    make_transfer(checkout, 49_000_000, block_time=now, recipient=ADDRESS)
    attribute_transfers(now=now)


def test_a_page_that_never_polls_changes_by_its_stream(
    use_streams: Callable[..., StreamServer], page: Page, live_server: Any, asked: list[str]
) -> None:
    use_streams()
    page.add_init_script(NEVER_POLL)
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    # It looks once when its stream begins: something may have happened in between.
    await_asked(page, asked, "stream", "status")
    pay(checkout)
    expect(page.get_by_role("heading", level=1)).to_have_text(SEEN)
    assert asked == ["stream", "status", "status"]


def test_a_page_that_never_polls_and_has_no_stream_stays_as_it_is(
    page: Page, live_server: Any, asked: list[str]
) -> None:
    page.add_init_script(NEVER_POLL)
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    await_asked(page, asked, "stream")
    pay(checkout)
    page.wait_for_load_state("networkidle")
    expect(page.get_by_role("heading", level=1)).not_to_have_text(SEEN)
    assert asked == ["stream"]
    # Whoever comes back to the page sees it as it is.
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.get_by_role("heading", level=1)).to_have_text(SEEN)


def test_without_a_stream_server_the_page_polls_and_nobody_complains(
    page: Page, live_server: Any, asked: list[str]
) -> None:
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    pay(checkout)
    expect(page.get_by_role("heading", level=1)).to_have_text(SEEN)
    assert asked.count("stream") == 1


def test_a_page_that_is_refused_a_stream_polls(
    use_streams: Callable[..., StreamServer], page: Page, live_server: Any, asked: list[str], complaints: list[str]
) -> None:
    use_streams(MAX_STREAMS="0")
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    pay(checkout)
    expect(page.get_by_role("heading", level=1)).to_have_text(SEEN)
    assert asked.count("stream") == 1
    [complaint] = complaints
    assert "503" in complaint
    complaints.clear()


def test_a_page_whose_stream_server_dies_goes_on_by_polling(
    use_streams: Callable[..., StreamServer], page: Page, live_server: Any, asked: list[str], complaints: list[str]
) -> None:
    server = use_streams()
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    await_asked(page, asked, "stream", "status")
    server.kill()
    pay(checkout)
    expect(page.get_by_role("heading", level=1)).to_have_text(SEEN)
    page.goto("about:blank")
    # The browser says so itself; no script of ours does.
    assert all("net::ERR_" in complaint for complaint in complaints)
    complaints.clear()


def test_the_overview_shows_a_payment_as_it_comes_without_polling(
    use_streams: Callable[..., StreamServer], open_desk: Callable[..., Page]
) -> None:
    use_streams()
    desk = make_desk()
    checkout = make_page_checkout(desk.merchant, order_ref="HR-20481")
    page = open_desk(desk, "dashboard_overview")
    expect(page.get_by_text("No payments yet")).to_be_visible()
    pay(checkout)
    row = page.get_by_role("row", name="HR-20481")
    expect(row).to_contain_text("Confirming")
    expect(page.locator("#announcer")).to_have_text("Latest payments updated")


def test_the_overview_finds_a_checkout_that_was_made_since(
    use_streams: Callable[..., StreamServer], open_desk: Callable[..., Page]
) -> None:
    use_streams()
    desk = make_desk()
    page = open_desk(desk, "dashboard_overview")
    page.clock.install()
    page.reload()
    pay(make_page_checkout(desk.merchant, order_ref="HR-20482"))
    with page.expect_request("**?seen=*") as asked:
        page.clock.run_for(15_000)
    assert "florin-unattended" in asked.value.headers
    expect(page.get_by_role("row", name="HR-20482")).to_contain_text("Confirming")
