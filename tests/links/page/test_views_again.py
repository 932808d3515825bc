"""A payer who came too late finds the way back to the link, where a fresh checkout is made."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from links.models import Subscription
from links.tokens import personal_url
from tests.factories import make_live_chain, make_merchant, make_wallet
from tests.links.factories import make_link, make_link_checkout, make_subscription_link
from tests.links.payer import Payer

pytestmark = pytest.mark.django_db


@pytest.fixture
def payer(client: Client, settings: Any) -> Payer:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:1"}
    make_live_chain("base")
    return Payer(client)


def expire(checkout: Checkout) -> None:
    """Let the time to pay pass, with the chain read beyond it."""
    Checkout.objects.update(expires_at=timezone.now() - timedelta(minutes=10))
    make_live_chain("base", read_through_at=timezone.now())
    expire_due_checkouts(now=timezone.now())
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.EXPIRED


def test_an_expired_checkout_leads_back_to_its_link(payer: Payer) -> None:
    merchant = make_merchant()
    make_wallet(merchant)
    link = make_link(merchant)
    first = payer.pay(f"/p/{link.code}")
    assert "Start again" not in payer.look(f"/c/{first.code}")
    expire(first)
    text = payer.look(f"/c/{first.code}")
    assert f'href="{first.again_url}"' in text
    assert first.again_url.endswith(f"/p/{link.code}")
    assert "Start again to get a new one" in text
    assert payer.pay(f"/p/{link.code}") != first


def test_a_subscriber_is_led_back_to_the_personal_page(payer: Payer) -> None:
    merchant = make_merchant()
    make_wallet(merchant)
    link = make_subscription_link(merchant)
    stranger = payer.pay(f"/p/{link.code}")
    assert stranger.again_url.endswith(f"/p/{link.code}")
    subscription = Subscription.objects.get()
    personal = personal_url(subscription)
    known = payer.pay(personal[personal.index("/p/") :])
    assert known != stranger
    assert known.again_url == personal


def test_where_part_of_the_money_came_nobody_is_asked_to_begin_again(payer: Payer) -> None:
    url = "https://pay.example/p/abc"
    checkout = make_link_checkout(make_link(), CheckoutStatus.EXPIRED, amount_received=1, again_url=url)
    text = payer.look(f"/c/{checkout.code}")
    assert "Start again" not in text
    assert url not in text


def test_a_checkout_of_no_link_leads_nowhere(payer: Payer) -> None:
    checkout = make_link_checkout(make_link(), CheckoutStatus.EXPIRED)
    assert checkout.again_url == ""
    assert "Start again" not in payer.look(f"/c/{checkout.code}")
