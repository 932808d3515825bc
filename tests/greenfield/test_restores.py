"""A shop after Florin came back from a backup: what the lost time made is unknown here, and the plugin makes it anew."""

import pytest
from django.db import transaction

from accounts.keys.authentication import key_cache
from accounts.models import ApiKey
from accounts.states import Mode
from checkouts.models import Checkout
from tests.greenfield.plugin import Plugin, make_plugin
from tests.greenfield.test_webhooks import HOOK, path, register
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


def test_an_order_of_the_lost_time_gets_one_new_invoice_and_its_webhook_another_id(live_woo: Plugin) -> None:
    backup = transaction.savepoint()
    lost, hook = live_woo.order()["id"], register(live_woo)["id"]
    later = make_plugin(live_woo.merchant, Mode.LIVE)
    assert later.get("/stores")
    transaction.savepoint_rollback(backup)
    key_cache.clear()

    assert live_woo.refusal("GET", f"{live_woo.store}/invoices/{lost}")[1]["code"] == "invoice-not-found"
    made = live_woo.order()["id"]
    assert made != lost
    assert live_woo.order()["id"] == made
    assert Checkout.objects.get().public_id == made

    assert live_woo.refusal("GET", path(live_woo, hook))[1]["code"] == "webhook-not-found"
    again = register(live_woo)
    assert again["id"] != hook
    assert live_woo.get(path(live_woo, again["id"]))["url"] == HOOK
    assert Endpoint.objects.get().public_id == again["id"]


def test_a_key_of_the_lost_time_opens_nothing_until_the_shop_is_connected_again(live_woo: Plugin) -> None:
    backup = transaction.savepoint()
    later = make_plugin(live_woo.merchant, Mode.LIVE)
    transaction.savepoint_rollback(backup)
    status, told = later.refusal("GET", "/stores")
    assert (status, told["code"]) == (401, "unauthenticated")
    assert make_plugin(live_woo.merchant, Mode.LIVE).get("/stores")
    assert ApiKey.objects.count() == 2
