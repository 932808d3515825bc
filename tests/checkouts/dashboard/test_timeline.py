"""What happened to a checkout, step by step."""

from datetime import timedelta

import pytest

from checkouts.dashboard.details import Detail
from checkouts.models import Checkout
from tests.checkouts.arrivals import Till
from tests.checkouts.dashboard.opened import page_of
from tests.checkouts.watcher import DOLLAR, attribute, pay
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout
from tests.webhooks.factories import make_endpoint
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


def detail(desk: Desk, checkout: Checkout) -> Detail:
    page = desk.get("dashboard_checkout", checkout_id=checkout.public_id)
    found: Detail = page.context["detail"]
    return found


def test_the_timeline_leads_from_creation_to_the_webhook(owner: Desk) -> None:
    make_endpoint(owner.merchant)
    checkout = make_checkout(owner.merchant)
    pay(checkout)
    Delivery.objects.update(status=DeliveryStatus.DELIVERED, finished_at=NOON + timedelta(minutes=2))
    steps = detail(owner, checkout).steps
    assert [step.title for step in steps] == [
        "Checkout created",
        "25.00 USDC seen on Base",
        "25.00 USDC confirmed",
        "Completed",
        "Webhook checkout.completed delivered",
    ]
    assert steps[1].note == "Credited: sent to this checkout's own address"
    links = [step.link.words if step.link else "" for step in steps]
    assert links[3:] == ["Receipt", "Delivery"]
    page = page_of(owner, checkout)
    assert steps[4].link is not None
    assert f'href="{steps[4].link.url}"' in page
    assert "View receipt" in page
    assert "Copy link" not in page


def test_it_says_why_an_exact_amount_was_credited(owner: Desk) -> None:
    till = Till(owner.merchant)
    checkout = till.checkout(suffix=3_700)
    till.sees(25 * DOLLAR + 3_700)
    attribute()
    notes = [step.note for step in detail(owner, checkout).steps]
    assert "Credited: named by its exact amount" in notes
    assert "Asked to pay exactly 25.0037" in notes
    assert "Known by" not in page_of(owner, checkout)


def test_a_webhook_that_waits_says_when_it_is_tried_again(owner: Desk) -> None:
    make_endpoint(owner.merchant)
    checkout = make_checkout(owner.merchant)
    pay(checkout)
    last = detail(owner, checkout).steps[-1]
    assert last.title == "Webhook checkout.completed: next attempt"
    assert last.tone == "next"
