"""A till's sale on local Base and Tron, whole: the dashboard's code, the phone's keypad, a wallet, the chain, green."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import PHONE
from tests.browser.test_end_to_end import CONFIRMED_WITHIN_MS, await_background_work
from tests.browser.test_till import type_keys
from tests.demo.lending import Demos
from tests.demo.running import Running, ask, demo_pay

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("demo")]


@pytest.fixture(scope="module")
def demo(demos: Demos) -> Running:
    return demos.lend()


@pytest.fixture(scope="module")
def settings(demo: Running) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((demo.var / "demo.json").read_text())
    return document


def pairing_code(page: Page, settings: dict[str, Any]) -> str:
    """Log in as the demo's owner, add a terminal in live mode, and return the code that it shows."""
    page.goto(f"{settings['base_url']}/account/login/")
    page.get_by_label("E-mail address").fill(settings["owner_email"])
    page.get_by_label("Password").fill(settings["owner_password"])
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url(re.compile(r"/dashboard/mer_"))
    page.goto(re.sub(r"/(live|test)/.*", "/live/terminals/", page.url))
    page.get_by_role("link", name="Add terminal").click()
    page.get_by_label("Name").fill("Counter")
    page.get_by_label("Tips in percent").fill("5, 10")
    page.get_by_role("button", name="Add terminal").click()
    page.get_by_role("button", name="Pair a device").click()
    return page.locator("[data-pairing-code]").inner_text()


@pytest.mark.parametrize(("chain", "button"), [("base", "Base"), ("tron", "Tron")])
def test_from_the_keypad_to_paid(
    chain: str, button: str, demo: Running, settings: dict[str, Any], open_context: Callable[..., BrowserContext]
) -> None:
    await_background_work(settings)
    code = pairing_code(open_context().new_page(), settings)
    page = open_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    page.goto(f"{settings['base_url']}/till/pair#{code}")
    page.get_by_role("button", name="Use this device").tap()
    type_keys(page, "750")
    page.get_by_text("10 %").tap()
    page.get_by_role("button", name="Charge 8.25 USD").tap()
    page.get_by_role("button", name=button, exact=True).tap()
    expect(page.locator(f"[data-code={chain}]")).to_be_in_viewport(ratio=1)
    found = re.search(r"/till/sales/(chk_live_[0-9a-z]+)", page.url)
    assert found
    paid = demo_pay(demo, found[1], "--chain", chain)
    assert paid.returncode == 0, paid.stderr
    # Seen first, green only once the network has confirmed it.
    expect(page.get_by_role("heading", name="Payment seen")).to_be_visible(timeout=CONFIRMED_WITHIN_MS)
    expect(page.get_by_role("heading", name="Paid")).to_be_visible(timeout=CONFIRMED_WITHIN_MS)
    status, checkout = ask(settings["base_url"], "GET", f"/api/v1/checkouts/{found[1]}", key=settings["live_key"])
    assert (status, checkout["status"], checkout["amount"]) == (200, "completed", "8.25")
    assert checkout["payment"]["tx_hash"] == paid.stdout.strip()
    assert checkout["metadata"]["tip"] == "0.75"
    page.get_by_role("link", name="New sale").tap()
    page.get_by_role("link", name="Sales").tap()
    expect(page.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("listitem")).to_contain_text("Paid")
