"""A shop plugin's consent page in a browser: the key goes to the shop's host by itself; and its modal, which is our page."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from playwright.sync_api import Page, expect

from accounts.models import ApiKey
from checkouts.models import Checkout
from tests.browser.dashboard import look
from tests.dashboard.people import Desk
from tests.greenfield.plugin import WOO, make_plugin
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver, Reply

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def consent(page: Page, base: str, redirect: str) -> None:
    named = [("permissions", name) for name in WOO]
    rest = [("applicationName", "WooCommerce"), ("redirect", redirect)]
    page.goto(f"{base}/btcpay/api-keys/authorize?{urlencode(named + rest)}")


def test_the_key_goes_to_the_shop_once_an_owner_agrees(
    owner: Desk, receiver: Receiver, open_desk: Callable[..., Page], live_server: Any
) -> None:
    page = open_desk(owner, "dashboard_keys")
    consent(page, live_server.url, receiver.url)
    expect(page.get_by_role("heading", name="Connect a shop", exact=True)).to_be_visible()
    expect(page.locator(".consent__host")).to_have_text(f"127.0.0.1:{receiver.port}")
    assert look(page, "connect", narrowest=320) == []
    page.get_by_label("live mode").check()
    page.get_by_role("button", name="Create key").click()
    wait_until(lambda: any(got.body for got in receiver.got))
    [sent] = [parse_qs(got.body.decode()) for got in receiver.got if got.body]
    store = owner.merchant.public_id
    assert sent["permissions[]"] == [f"{name}:{store}" for name in WOO]
    assert sent["apiKey"][0].startswith("sk_live_fl_")
    assert sent["userId"] == [owner.user.public_id]
    assert ApiKey.objects.get().mode == "live"
    page.wait_for_url(receiver.url)


def test_the_modal_of_a_shop_leads_the_whole_window_to_the_payment_page(
    receiver: Receiver, page: Page, live_server: Any, settings: Any
) -> None:
    settings.CHECKOUT_HOST = live_server.url
    plugin = make_plugin()
    invoice = plugin.order()["id"]
    script = f'<script src="{live_server.url}/btcpay/modal/btcpay.js"></script>'
    button = f"<button onclick=\"btcpay.showInvoice('{invoice}')\">Pay</button>"
    html = {"Content-Type": "text/html"}
    receiver.reply = lambda _: Reply(headers=html, body=f"<!doctype html>{script}{button}".encode())
    page.goto(receiver.url)
    page.get_by_role("button", name="Pay").click()
    page.wait_for_url(f"**/c/{Checkout.objects.get().code}")
