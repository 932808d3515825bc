"""What makes creation of a checkout idempotent."""

from dataclasses import replace
from decimal import Decimal

from checkouts.inputs import NewCheckout
from checkouts.states import TestScenario as Scenario

WANTED = NewCheckout(
    amount=Decimal(49),
    currency="USD",
    description="",
    metadata="{}",
    customer_email="",
    redirect_url="",
    webhook_url="",
    expires_in=900,
    customer_ref="",
    product_ref="",
    order_ref="order-7",
    test_scenario=Scenario.COMPLETED,
)


def test_an_order_is_named_by_its_reference() -> None:
    assert WANTED.creation_ref == "order-7"
    assert replace(WANTED, order_ref="").creation_ref is None


def test_each_payer_of_a_link_gets_a_checkout() -> None:
    of_link = replace(WANTED, is_repeatable=False, again_url="https://links.example/p/1")
    assert of_link.creation_ref is None
    assert of_link.is_from_link
    assert not WANTED.is_from_link


def test_of_each_expired_checkout_one_is_made_afresh() -> None:
    assert replace(WANTED, again_for="chk_1").creation_ref == "again:chk_1"
