"""The till and the dashboard on a home screen: what a browser says against installing them, asked by its developer tools."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page
from pytest_django.live_server_helper import LiveServer

from accounts.models import Merchant
from tests.browser.conftest import CHROMIUM_FLAGS, nobody_else_asks
from tests.browser.dashboard import log_in_browser
from tests.checkouts.till.terminals import make_terminal, paired_device
from tests.dashboard.people import make_desk
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

WITH_WINDOWS = ("chromium", "chromium-browser", "google-chrome")
"""Programs that can install. Chromium's shell without windows cannot."""


@pytest.fixture
def profile(browser: Browser, live_server: LiveServer, tmp_path: Path) -> Iterator[BrowserContext]:
    """A browser with a profile: a private window, which other tests have, installs nothing."""
    del live_server
    program = next((path for name in WITH_WINDOWS if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("this machine lacks a Chromium that can install applications")
    context = browser.browser_type.launch_persistent_context(tmp_path, executable_path=program, args=CHROMIUM_FLAGS)
    yield context
    context.close()
    wait_until(nobody_else_asks)


def objections(page: Page) -> list[str]:
    """What the browser has against installing the application of a page."""
    found = page.context.new_cdp_session(page).send("Page.getInstallabilityErrors")
    return [error["errorId"] for error in found["installabilityErrors"]]


def manifest_of(page: Page) -> dict[str, Any]:
    """The manifest as the browser read it: its address, what it found wrong, and its text."""
    return page.context.new_cdp_session(page).send("Page.getAppManifest")


def test_a_browser_may_install_the_till(profile: BrowserContext, live_server: LiveServer, merchant: Merchant) -> None:
    device = paired_device(make_terminal(merchant))
    token = device.client.cookies[settings.TILL_COOKIE_NAME].value
    profile.add_cookies(
        [{"name": settings.TILL_COOKIE_NAME, "value": token, "url": live_server.url, "sameSite": "Strict"}]
    )
    page = profile.new_page()
    page.goto(f"{live_server.url}/till/")
    manifest = manifest_of(page)
    assert manifest["url"] == f"{live_server.url}/till/manifest.webmanifest"
    assert manifest["errors"] == []
    assert objections(page) == []


def test_a_browser_may_install_the_dashboard(profile: BrowserContext, live_server: LiveServer) -> None:
    desk = make_desk()
    log_in_browser(profile, live_server.url, desk.user)
    page = profile.new_page()
    page.goto(live_server.url + desk.url("dashboard_overview"))
    manifest = manifest_of(page)
    assert manifest["url"] == f"{live_server.url}/notices/manifest.webmanifest"
    assert manifest["errors"] == []
    assert objections(page) == []


def test_a_page_without_a_manifest_is_objected_to(profile: BrowserContext, live_server: LiveServer) -> None:
    page = profile.new_page()
    page.goto(f"{live_server.url}/status")
    assert objections(page) == ["no-manifest"]
