"""Notices in a browser: the page in every size, and a message that a real service worker shows.

No push service is reached from here, so the subscription is a stand-in, and the browser's own decryption is a foreign library's. The
rest is real: permission, worker, our sender and encryption. How a system draws a notice, and a tap on it, no headless browser shows.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from notices.models import Choice, Device
from notices.states import How, Kind
from notices.telling import tell
from tests.browser.conftest import PHONE
from tests.browser.dashboard import look
from tests.checkouts.watcher import pay
from tests.dashboard.people import Desk
from tests.factories import make_checkout
from tests.notices.browsers import Browser, make_chat
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver
from tests.webhooks.senders import sending
from webhooks.models import Event
from webhooks.push import server_key

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BUTTON = "Show notices on this device"
# In place of the browser's push service, which is not reached.
SUBSCRIBES = """
PushManager.prototype.subscribe = async function (options) {
  if (!options.userVisibleOnly || options.applicationServerKey !== KEY) throw new Error("another key");
  return { toJSON: () => (SUBSCRIPTION) };
};
"""
SHOWN = """async () => {
  const registration = await navigator.serviceWorker.getRegistration("/notices/");
  return (await registration.getNotifications()).map(({ title, body, tag, data }) => ({ title, body, tag, data }));
}"""


def subscribe_as(page: Page, browser: Browser) -> None:
    """Let the page get a browser's subscription from now on."""
    subscription = {"endpoint": browser.url, "keys": {"p256dh": browser.p256dh, "auth": browser.auth}}
    script = SUBSCRIBES.replace("SUBSCRIPTION", json.dumps(subscription)).replace("KEY", json.dumps(server_key()))
    page.add_init_script(script)
    page.reload()


def test_a_payment_is_shown_by_the_worker_of_a_browser_that_was_asked(
    owner: Desk, receiver: Receiver, open_desk: Callable[..., Page], live_server: Any
) -> None:
    browser = Browser(receiver.url)
    page = open_desk(owner, "dashboard_notices", permissions=["notifications"])
    subscribe_as(page, browser)
    page.get_by_role("button", name=BUTTON).click()
    expect(page.get_by_role("status")).to_contain_text("Notices are shown by")
    now = timezone.now()
    tell(Kind.PAYMENT, now=now - timedelta(hours=1))
    pay(make_checkout(owner.merchant, order_ref="A-17"))
    Event.objects.update(created_at=now)
    with sending():
        assert tell(Kind.PAYMENT, now=now) == 1
        wait_until(lambda: receiver.has_got(1))
    text = browser.reads_request(receiver.got[0], at=timezone.now())["text"]
    deliver(page, live_server.url, text)
    page.wait_for_function(f"async () => (await ({SHOWN})()).length === 1")
    [shown] = page.evaluate(SHOWN)
    assert (shown["title"], shown["body"]) == ("25.00 USD received", "Order A-17 of 25.00 USD is paid.")
    assert "/checkouts/" in shown["data"]["url"]


def deliver(page: Page, origin: str, text: str) -> None:
    """Give the worker a message as the browser does once it has decrypted one."""
    devtools = page.context.new_cdp_session(page)
    registrations: list[str] = []
    devtools.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda told: registrations.extend(one["registrationId"] for one in told["registrations"]),
    )
    devtools.send("ServiceWorker.enable")
    # Asking the page lets what the browser says arrive.
    wait_until(lambda: page.evaluate("1") and registrations)
    message = {"origin": origin, "registrationId": registrations[0], "data": text}
    devtools.send("ServiceWorker.deliverPushMessage", message)


def test_a_browser_is_asked_only_after_a_press_and_may_refuse(owner: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(owner, "dashboard_notices", viewport=PHONE)
    page.add_init_script(
        "window.asked = 0; Notification.requestPermission = async () => { window.asked += 1; return 'denied'; };"
    )
    page.reload()
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    assert page.evaluate("window.asked") == 0
    page.get_by_role("button", name=BUTTON).click()
    expect(page.get_by_text("This browser may not show notices.")).to_be_visible()
    assert page.evaluate("window.asked") == 1
    expect(page.get_by_role("button", name=BUTTON)).to_be_enabled()
    assert not Device.objects.exists()


def test_choices_devices_and_chats_fit_each_screen_and_work_without_scripts(
    owner: Desk, open_desk: Callable[..., Page]
) -> None:
    Browser().added(owner.user, owner.merchant)
    make_chat(owner.merchant, owner.user)
    page = open_desk(owner, "dashboard_notices")
    assert look(page, "notices", narrowest=320) == []
    plain = open_desk(owner, "dashboard_notices", java_script_enabled=False)
    expect(plain.get_by_text("This browser cannot show notices here.")).to_be_visible()
    plain.get_by_label("Payments by mail").select_option("At once")
    plain.get_by_role("button", name="Save").click()
    expect(plain.get_by_role("status")).to_contain_text("Your choices are saved")
    assert Choice.objects.get(kind=Kind.PAYMENT, way="mail").how == How.AT_ONCE
    plain.get_by_role("button", name="Remove #orders").click()
    expect(plain.get_by_role("status")).to_contain_text("gets no more notices")
