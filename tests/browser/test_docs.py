"""The documentation in a browser: looks, search, tabs, and what is left of it without scripts."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.axe import violations
from tests.browser.conftest import PHONE
from tests.browser.test_screenshots import faults, overflows, take
from tests.exhaustive import sample

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Open = Callable[..., Page]


@pytest.mark.parametrize("path", ["", "quickstart/", "webhooks/", "x402-clients/", "errors/", "api/checkouts/"])
def test_a_page_is_whole_in_every_size_and_both_themes(
    open_context: Callable[..., BrowserContext], live_server: LiveServer, path: str
) -> None:
    page = open_context().new_page()
    page.goto(f"{live_server.url}/docs/{path}")
    name = path.strip("/").replace("/", "-") or "index"
    assert faults(page, f"docs-{name}", narrowest=390) == []


def test_the_search_needs_no_other_host_and_leads_to_the_heading(
    open_context: Callable[..., BrowserContext], live_server: LiveServer
) -> None:
    page = open_context().new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{live_server.url}/docs/")
    page.get_by_role("searchbox").fill("verify signature")
    results = page.get_by_role("list", name="Search results").get_by_role("link")
    expect(results.first).to_be_visible()
    page.get_by_role("searchbox").fill("body_late")
    results.first.click()
    expect(page).to_have_url(re.compile(r"/docs/errors/#body_late$"))
    assert [url for url in asked if not url.startswith(live_server.url)] == []


def test_a_language_is_chosen_for_every_example_by_pointer_and_by_keys(
    open_context: Callable[..., BrowserContext], live_server: LiveServer
) -> None:
    page = open_context().new_page()
    page.goto(f"{live_server.url}/docs/quickstart/")
    page.get_by_role("tab", name="Python").first.click()
    shown = page.get_by_role("tab", name="Python", selected=True)
    expect(shown).to_have_count(2)
    expect(page.get_by_text("from florin import Florin").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="TypeScript").first).to_be_focused()
    expect(page.get_by_role("tab", selected=True)).to_have_text(["TypeScript"] * 2)


def test_without_scripts_every_example_and_the_menu_are_there(
    open_context: Callable[..., BrowserContext], live_server: LiveServer
) -> None:
    page = open_context(java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/docs/quickstart/")
    for language in ("curl", "Python", "TypeScript", "PHP", "Go"):
        expect(page.get_by_text(language, exact=True).first).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("link", name="Menu").click()
    menu = page.get_by_role("navigation", name="Documentation")
    menu.get_by_role("link", name="Receive webhooks").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Receive webhooks")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_explorer_shows_operations_and_reaches_no_other_host(
    open_context: Callable[..., BrowserContext], live_server: LiveServer, scheme: str, width: int
) -> None:
    context = open_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{live_server.url}/docs/api/checkouts/")
    page.get_by_role("link", name="API explorer").click()
    expect(page.get_by_role("heading", name="Florin API")).to_be_visible()
    expect(page.get_by_text("/api/v1/checkouts/{checkout_id}").first).to_be_visible()
    expect(page.locator("html")).to_have_class(re.compile(rf"\b{scheme}\b"))
    take(page, f"docs-explorer-{width}-{scheme}")
    assert not overflows(page)
    allowed = (live_server.url, "data:", "blob:")
    assert [url for url in asked if not url.startswith(allowed)] == []


# A list with a choice of media types, and one of each method: their colours differ.
OPERATIONS = [
    "checkouts/createcheckout",
    "payment-links/changelink",
    "reports/listreporttransactions",
    "watched-wallets/unwatchwallet",
]


def faults_of_explorer(page: Page, server: str, operation: str) -> list[str]:
    """What axe finds, by every rule, where the explorer shows an operation or its beginning."""
    page.goto(f"{server}/docs/api/explorer/#/{operation}")
    expect(page.get_by_text("Search Ctrl+K")).to_be_attached()
    expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
    return violations(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("operation", ["", *sample(OPERATIONS, 2)])
def test_axe_finds_no_fault_in_the_explorer(
    open_context: Callable[..., BrowserContext], live_server: LiveServer, scheme: str, operation: str
) -> None:
    page = open_context(color_scheme=scheme).new_page()
    assert faults_of_explorer(page, live_server.url, operation) == []
    page.set_viewport_size(PHONE)
    assert violations(page) == []


def test_without_our_style_and_script_axe_finds_the_explorers_faults(
    open_context: Callable[..., BrowserContext], live_server: LiveServer
) -> None:
    page = open_context(color_scheme="light").new_page()
    page.route("**/css/explorer.css", lambda route: route.fulfill(body="", content_type="text/css"))
    page.route("**/js/explorer.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    found = faults_of_explorer(page, live_server.url, OPERATIONS[0])
    rules = {fault.partition(":")[0] for fault in found}
    assert {"color-contrast", "heading-order", "region"} <= rules
