"""The documentation in a browser: looks, search, tabs, and what is left of it without scripts."""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Request, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout
from tests.browser.axe import violations
from tests.browser.conftest import PHONE
from tests.browser.test_screenshots import faults, overflows, take
from tests.exhaustive import sample
from tests.factories import make_key

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


def sending_form(page: Page, server: str, operation: str, key: str) -> Locator:
    """Open the form that sends the operation which the explorer shows, fill in a key, and return the form."""
    page.goto(f"{server}/docs/api/explorer/#/{operation}")
    expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
    page.get_by_role("button", name="Send a request").click()
    form = page.get_by_role("dialog", name="Send a request")
    form.get_by_label("Test key").fill(key)
    return form


def kept_by(page: Page) -> str:
    """All that the page's origin keeps in the browser, and its address."""
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])")
    return f"{kept}{page.context.cookies()}"


@pytest.mark.usefixtures("chains_are_well")
def test_the_explorer_sends_a_request_with_a_test_key_and_keeps_it_nowhere(
    open_context: Callable[..., BrowserContext], live_server: LiveServer, merchant: Merchant
) -> None:
    _, test_key = make_key(merchant, Mode.TEST)
    page = open_context().new_page()
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    form = sending_form(page, live_server.url, "checkouts/createcheckout", test_key)
    expect(form.get_by_text("POST /api/v1/checkouts", exact=True)).to_be_visible()
    assert json.loads(form.get_by_label("Body").input_value())["currency"] == "USD"
    form.get_by_role("button", name="Send", exact=True).click()
    expect(form.get_by_role("status")).to_contain_text("Answer: 201")
    made = json.loads(form.get_by_role("region", name="Answer").inner_text())
    assert Checkout.objects.get().public_id == made["id"]
    assert made["livemode"] is False
    form.get_by_label("Operation").select_option("getCheckout")
    form.get_by_label("checkout_id", exact=True).fill(made["id"])
    form.get_by_role("button", name="Send", exact=True).click()
    expect(form.get_by_role("status")).to_contain_text("Answer: 200")
    assert violations(page) == []
    assert test_key not in kept_by(page)
    sent = [request for request in asked if "authorization" in request.headers]
    assert [(one.method, "cookie" in one.all_headers()) for one in sent] == [("POST", False), ("GET", False)]
    assert [
        one.url for one in asked if test_key in one.url or not one.url.startswith((live_server.url, "data:", "blob:"))
    ] == []
    page.goto(f"{live_server.url}/docs/")
    page.go_back()
    page.get_by_role("button", name="Send a request").click()
    expect(page.get_by_label("Test key")).to_have_value("")


def test_the_explorer_sends_nothing_with_a_live_key_and_shows_refusals(
    open_context: Callable[..., BrowserContext], live_server: LiveServer, merchant: Merchant, complaints: list[str]
) -> None:
    _, live_key = make_key(merchant)
    page = open_context(viewport=PHONE).new_page()
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    form = sending_form(page, live_server.url, "checkouts/listcheckouts", live_key)
    form.get_by_role("button", name="Send", exact=True).click()
    assert form.get_by_label("Test key").evaluate("field => field.validity.patternMismatch")
    assert [one for one in asked if "authorization" in one.headers] == []
    form.get_by_label("Test key").fill("sk_test_fl_nothing")
    form.get_by_role("button", name="Send", exact=True).click()
    expect(form.get_by_role("status")).to_contain_text("Answer: 401")
    expect(form.get_by_role("region", name="Answer")).to_contain_text('"error"')
    assert not overflows(page)
    assert violations(page) == []
    # The browser's own line about status 401.
    complaints.clear()
