"""A checkout made afresh for a buyer who came too late."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout, TestStep
from checkouts.states import CheckoutStatus
from checkouts.states import TestScenario as Scenario
from tests.checkouts.factories import ADDRESS, make_page_checkout, move
from tests.checkouts.page.late import again, expired
from tests.checkouts.page.test_views import page_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

SAME = (
    "amount",
    "currency",
    "description",
    "metadata",
    "customer_ref",
    "product_ref",
    "order_ref",
    "customer_email",
    "redirect_url",
    "webhook_url",
    "mode",
    "merchant_id",
)


def fresh_of(answer: Any, old: Checkout) -> Checkout:
    assert answer.status_code == 303
    assert answer["Cache-Control"] == "no-store"
    fresh = Checkout.objects.get(code=answer["Location"].removeprefix("/c/"))
    assert fresh.pk != old.pk
    return fresh


def test_starting_again_makes_the_same_checkout_with_new_time_and_a_new_address(
    retry_shop: Merchant, client: Client
) -> None:
    old = expired(retry_shop)
    assert "Start again" in page_of(client, old)
    fresh = fresh_of(again(client, old), old)
    assert {name: getattr(fresh, name) for name in SAME} == {name: getattr(old, name) for name in SAME}
    assert fresh.status == CheckoutStatus.PENDING
    assert fresh.expires_at > timezone.now() + timedelta(minutes=29)
    assert fresh.offers["base"]["address"] != ADDRESS
    old.refresh_from_db()
    assert old.status == CheckoutStatus.EXPIRED


def test_the_order_ref_of_the_first_does_not_lead_back_to_it(retry_shop: Merchant, client: Client) -> None:
    old = expired(retry_shop, creation_ref="secret-order")
    fresh = fresh_of(again(client, old), old)
    assert fresh.order_ref == "secret-order"


def test_starting_again_and_again_leads_to_one_checkout(retry_shop: Merchant, client: Client) -> None:
    old = expired(retry_shop)
    codes = {again(client, old)["Location"] for _ in range(3)}
    assert len(codes) == 1
    assert Checkout.objects.count() == 2


def test_a_second_try_that_expires_too_may_be_followed_by_a_third(retry_shop: Merchant, client: Client) -> None:
    first = expired(retry_shop)
    second = fresh_of(again(client, first), first)
    move(second, CheckoutStatus.EXPIRED)
    third = fresh_of(again(client, second), second)
    assert third.pk not in {first.pk, second.pk}


def test_in_test_mode_the_second_try_goes_well(retry_shop: Merchant, client: Client) -> None:
    now = timezone.now()
    old = expired(retry_shop, mode=Mode.TEST, test_scenario=Scenario.EXPIRED, expires_at=now - timedelta(seconds=5))
    fresh = fresh_of(again(client, old), old)
    assert fresh.test_scenario == Scenario.COMPLETED
    assert list(TestStep.objects.values_list("checkout", "kind")) == [(fresh.pk, "pay")]


def test_a_time_cut_short_is_not_handed_on(retry_shop: Merchant, client: Client) -> None:
    created_at = timezone.now() - timedelta(seconds=20)
    old = make_page_checkout(retry_shop, created_at=created_at, expires_at=created_at + timedelta(seconds=5))
    move(old, CheckoutStatus.EXPIRED)
    fresh = fresh_of(again(client, old), old)
    assert fresh.expires_at - fresh.created_at == timedelta(minutes=5)
