"""A shop from its first click to its first paid order: consent, key, webhook, order, payment page, signed webhooks, status."""

import json
import re
from urllib.parse import urlsplit

import pytest
from django.test import Client

from accounts.models import ApiKey
from accounts.states import Mode, Preset
from checkouts.models import Checkout
from tests.contract.payments import pay
from tests.dashboard.people import make_desk
from tests.factories import make_live_chain, make_merchant, make_wallet
from tests.greenfield.plugin import PRESTASHOP, Plugin
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver
from tests.webhooks.senders import sending
from webhooks.models import Delivery
from webhooks.signatures import sign_as_btcpay
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "5f" * 24


def connected() -> Plugin:
    """A plugin with the key that the consent page's form posts to its shop, of the store that the permissions name."""
    merchant = make_merchant()
    make_live_chain("base")
    make_wallet(merchant, "base")
    owner = make_desk(merchant)
    asked = "&".join(f"permissions={name}" for name in PRESTASHOP)
    consent = f"/btcpay/api-keys/authorize?{asked}&applicationName=Tea&redirect=https%3A%2F%2Fshop.example%2Fback"
    page = owner.client.get(consent)
    [store] = [one for one in re.findall(r'name="store" value="([^"]+)"', page.text) if one.endswith("/live")]
    posted = owner.client.post(consent, {"store": store}).text
    sent = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', posted)
    [key] = [value for name, value in sent if name == "apiKey"]
    first = next(value for name, value in sent if name == "permissions[]")
    assert first.rpartition(":")[2] == merchant.public_id
    assert ApiKey.objects.get().preset == Preset.SHOP_PLUGIN
    return Plugin(key, merchant, Mode.LIVE)


def test_a_shop_is_connected_and_its_first_order_is_paid(local_nodes: None, receiver: Receiver) -> None:
    shop = connected()
    hook = {"url": receiver.url, "secret": SECRET, "authorizedEvents": {"everything": True}}
    assert shop.post(f"{shop.store}/webhooks", hook)["secret"] == SECRET
    invoice = shop.order("1001")
    led = Client().get(urlsplit(invoice["checkoutLink"]).path)
    assert led.status_code == 302
    paying = urlsplit(led["Location"]).path
    page = Client().get(paying)
    assert page.status_code == 200
    assert "25.00" in page.text

    with sending():
        pay(invoice["id"])
        wait_until(lambda: not Delivery.objects.exclude(status=DeliveryStatus.DELIVERED).exists())
    told = [json.loads(got.body) for got in receiver.got]
    assert [one["type"] for one in told] == ["InvoiceProcessing", "InvoicePaymentSettled", "InvoiceSettled"]
    assert {one["invoiceId"] for one in told} == {invoice["id"]}
    assert all(got.headers["BTCPay-Sig"] == sign_as_btcpay(got.body, SECRET) for got in receiver.got)
    # Two at once would be two orders, or an older word for the newer.
    assert receiver.most_in_flight == 1
    assert shop.get(f"{shop.store}/invoices/{invoice['id']}")["status"] == "Settled"
    assert Checkout.objects.get().order_ref == "1001"
    assert "https://shop.example/thanks" in Client().get(paying).text
