"""What the merchant's pages call links."""

from decimal import Decimal

import pytest

from links.dashboard.words import interval_of, link_badge, price_of, range_of
from links.models import PaymentLink
from links.selectors import LastPayment
from links.states import Interval, LinkStatus, LinkType, Standing


@pytest.mark.parametrize(
    ("status", "standing", "label"),
    [
        (LinkStatus.ACTIVE, None, "Active"),
        (LinkStatus.PAUSED, Standing.PAID, "Paid"),
        (LinkStatus.ACTIVE, Standing.DOUBTED, "In doubt"),
        (LinkStatus.ACTIVE, Standing.REVERSED, "Reversed"),
        (LinkStatus.ARCHIVED, Standing.PAID, "Archived"),
    ],
)
def test_a_paid_invoice_closed_itself(status: LinkStatus, standing: Standing | None, label: str) -> None:
    payment = LastPayment(1, "code", standing) if standing else None
    assert link_badge(PaymentLink(type=LinkType.INVOICE, status=status), payment).label == label


def test_what_the_payer_chooses_has_no_price() -> None:
    priced = PaymentLink(type=LinkType.CUSTOM, amount=Decimal("49.00"))
    assert "49.00" in price_of(priced)
    assert price_of(PaymentLink(type=LinkType.DONATION, amount=Decimal(5))) == ""


def test_only_a_subscription_has_an_interval() -> None:
    assert interval_of(PaymentLink(interval=Interval.WEEK)) == "a week"
    assert interval_of(PaymentLink(interval="")) == ""


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [("5", "9", "5.00 to 9.00"), ("5", None, "from 5.00"), (None, "9", "up to 9.00"), (None, None, "")],
)
def test_a_range_says_the_limits_that_were_set(low: str | None, high: str | None, words: str) -> None:
    least, most = (None if text is None else Decimal(text) for text in (low, high))
    assert range_of(PaymentLink(min_amount=least, max_amount=most)) == words
