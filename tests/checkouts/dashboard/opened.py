"""Pages of checkouts as a desk opens them."""

from django.utils import timezone

from accounts.states import Mode
from checkouts.models import Checkout
from tests.dashboard.people import Desk
from webhooks.models import Delivery
from webhooks.outbox.events import NewEvent, publish

SENT_BACK = "0x" + "ab" * 32
"""The hash of a transaction that sent money back."""


def listed(desk: Desk, query: str = "") -> list[str]:
    """The ids of the checkouts on a page of the list, in its order."""
    page = desk.get("dashboard_checkouts", query)
    assert page.status_code == 200
    return [row.public_id for row in page.context["pager"].rows]


def page_of(desk: Desk, checkout: Checkout) -> str:
    """The page of a checkout, its white space folded."""
    text: str = desk.get("dashboard_checkout", checkout_id=checkout.public_id).text
    return " ".join(text.split())


def tell(checkout: Checkout, url: str = "https://shop.example/hook") -> Delivery:
    """The checkout's completion, told to an endpoint of its own."""
    event = NewEvent(
        merchant_id=checkout.merchant_id,
        mode=Mode(checkout.mode),
        type="checkout.completed",
        subject_id=checkout.public_id,
        occurrence=f"{checkout.public_id}:1",
        data=b"{}",
        url=url,
    )
    publish([event], now=timezone.now())
    return Delivery.objects.get(event__subject_id=checkout.public_id)
