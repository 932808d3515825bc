"""The dashboard in a real browser: somebody who is logged in, and looking at a page in every size and both themes."""

from django.conf import settings
from playwright.sync_api import BrowserContext, Page

from accounts.models import User
from tests.browser.test_screenshots import faults
from tests.dashboard.people import log_in


def log_in_browser(context: BrowserContext, address: str, user: User) -> None:
    """Give a browser the session of somebody who logged in a moment ago; `address` is the live server's."""
    client = log_in(user)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": address, "httpOnly": True}])


def look(page: Page, name: str, *, narrowest: int = 390) -> list[str]:
    """What axe and the screen find wrong with a page of the dashboard; most are not made for the narrowest phones."""
    return faults(page, name, narrowest=narrowest)
