"""Links in each state, as rows."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from gateway.core.ids import new_id
from links.models import LinkCheckout, LinkTemplate, PaymentLink, Subscription
from links.states import Interval, LinkType
from tests.factories import NOON, make_checkout, make_merchant


def make_link(merchant: Merchant | None = None, **overrides: Any) -> PaymentLink:
    """A test-mode link of 25 USD; what its payers must never see is in it too."""
    mode = overrides.pop("mode", Mode.TEST)
    values: dict[str, Any] = {
        "public_id": new_id(f"lnk_{mode}"),
        "title": "Cupping workshop",
        "amount": Decimal("25.00"),
        "metadata": '{"note":"secret-note"}',
        "created_at": NOON,
        "updated_at": NOON,
    }
    return PaymentLink.objects.create(merchant=merchant or make_merchant(), mode=mode, **(values | overrides))


def make_invoice(merchant: Merchant | None = None, **overrides: Any) -> PaymentLink:
    """An invoice."""
    return make_link(merchant, type=LinkType.INVOICE, **overrides)


def make_donation(merchant: Merchant | None = None, **overrides: Any) -> PaymentLink:
    """A donation of 5 to 500 USD, with three suggestions."""
    values: dict[str, Any] = {
        "type": LinkType.DONATION,
        "title": "Plant a coffee tree",
        "amount": None,
        "min_amount": Decimal("5.00"),
        "max_amount": Decimal("500.00"),
        "suggested_amounts": ["10.00", "25.00", "100.00"],
    }
    return make_link(merchant, **(values | overrides))


def make_subscription_link(merchant: Merchant | None = None, **overrides: Any) -> PaymentLink:
    """A monthly subscription."""
    values: dict[str, Any] = {"type": LinkType.SUBSCRIPTION, "title": "Beans every month", "interval": Interval.MONTH}
    return make_link(merchant, **(values | overrides))


def make_template(merchant: Merchant | None = None) -> LinkTemplate:
    """Defaults of a link of 40 dollars."""
    return LinkTemplate.objects.create(
        merchant=merchant or make_merchant(),
        mode=Mode.LIVE,
        title="Workshop",
        type=LinkType.CUSTOM,
        amount=Decimal(40),
        created_at=NOON,
    )


def make_link_checkout(
    link: PaymentLink,
    status: CheckoutStatus = CheckoutStatus.COMPLETED,
    *,
    subscription: Subscription | None = None,
    slot: str = "",
    **overrides: Any,
) -> Checkout:
    """A checkout made from a link; a completed one received its price."""
    values: dict[str, Any] = {"amount": link.amount or Decimal(10)} | overrides
    if status == CheckoutStatus.COMPLETED:
        values.setdefault("amount_received", values["amount"])
    checkout = make_checkout(link.merchant, mode=link.mode, status=status, **values)
    LinkCheckout.objects.create(
        link=link,
        checkout=checkout,
        slot=slot or ("invoice" if link.type == LinkType.INVOICE else checkout.code),
        attempt=1,
        subscription=subscription,
    )
    return checkout


def make_paid_invoice(merchant: Merchant | None = None, **overrides: Any) -> PaymentLink:
    """An invoice somebody paid."""
    link = make_invoice(merchant, **overrides)
    make_link_checkout(link)
    return link


def make_subscriber(
    link: PaymentLink | None = None, *, email: str = "", paid: bool = True, days_ago: int = 0
) -> Subscription:
    """Somebody who pays a subscription, and paid it just now or so many days ago."""
    link = link or make_subscription_link()
    subscription = Subscription.objects.create(link=link, email=email, created_at=timezone.now())
    if paid:
        paid_at = timezone.now() - timedelta(days=days_ago)
        make_link_checkout(link, subscription=subscription, paid_at=paid_at)
    return subscription
