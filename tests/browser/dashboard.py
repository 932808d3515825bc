"""The dashboard in a real browser: somebody who is logged in, and looking at a page in every size and both themes."""

from django.conf import settings
from playwright.sync_api import BrowserContext, Page

from accounts.models import User
from tests.browser.test_screenshots import VIEWS, faults
from tests.dashboard.people import log_in

# Phones and desks; the dashboard is not made for the narrowest phones, and fits them nevertheless.
DASHBOARD_VIEWS = [view for view in VIEWS if not view.startswith("320-")]


def log_in_browser(context: BrowserContext, address: str, user: User) -> None:
    """Give a browser the session of somebody who logged in a moment ago; `address` is the live server's."""
    client = log_in(user)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    context.add_cookies(
        [{"name": cookie.key, "value": cookie.value, "url": address, "httpOnly": True}]
    )


def look(page: Page, name: str) -> list[str]:
    """Take the page's pictures (var/screenshots/<name>-<view>.png); return what axe and the screen find wrong with it."""
    return [
        f"{view}: {fault}"
        for view in DASHBOARD_VIEWS
        for fault in faults(page, view, name)
    ]
