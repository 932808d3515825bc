"""What late money for a converted price is worth: at the checkout's quote, and at the rate of now."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.models import Merchant
from checkouts.inbox.rows import Worths, worths_of
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxAct, InboxReason
from rates.models import Rate
from tests.checkouts.inboxes import LATER, late_for, late_item
from tests.checkouts.watcher import pay
from tests.dashboard.inboxes import DECIDE, ITEM
from tests.dashboard.people import Desk
from tests.factories import make_merchant
from tests.rates.playing import make_quoted, price_in, store_rates

pytestmark = pytest.mark.django_db

EUROS = {"amount": Decimal("25.03"), "price": Decimal(23), "currency": "EUR"}
YEN = {"amount": Decimal("8.01"), "price": Decimal(1200), "currency": "JPY"}


@pytest.fixture(autouse=True)
def _prices(settings: Any) -> None:
    price_in(settings, "EUR", "JPY")
    store_rates({"EUR": "1.2", "JPY": "0.0066"})


def late(units: int, merchant: Merchant | None = None, **facts: Any) -> InboxItem:
    """Money that came after a checkout with a converted price expired."""
    checkout = make_quoted(merchant or make_merchant(), **(EUROS | facts))
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=LATER)
    late_for(checkout, units)
    return InboxItem.objects.get(reason=InboxReason.LATE, checkout=checkout)


@pytest.mark.parametrize(
    ("facts", "units", "then", "now"),
    [
        # 23.00 EUR are 27.60 USD now, and 1200 JPY 7.92 USD; what is left over is never shown as a cent more.
        (EUROS, 25_030_000, "23.00 EUR", "20.85 EUR"),
        (EUROS, 10_000_000, "9.18 EUR", "8.33 EUR"),
        (YEN, 8_010_000, "1,200 JPY", "1,213 JPY"),
        (YEN, 20_000, "2 JPY", "3 JPY"),
    ],
)
def test_late_money_is_told_at_the_quote_and_at_the_rate_of_now(
    facts: dict[str, Any], units: int, then: str, now: str
) -> None:
    assert worths_of(late(units, **facts), now=timezone.now()) == Worths(then, now)


def test_without_an_agreed_rate_only_the_quote_is_told() -> None:
    item = late(25_030_000)
    Rate.objects.filter(source="coinbase").delete()
    assert worths_of(item, now=timezone.now()) == Worths("23.00 EUR", "")


def test_a_currency_that_was_taken_out_of_the_setting_is_still_told(settings: Any) -> None:
    item = late(25_030_000)
    settings.PRICE_CURRENCIES = []
    assert worths_of(item, now=timezone.now()) == Worths("23.00 EUR", "20.85 EUR")


def test_other_money_is_told_by_no_rate() -> None:
    assert worths_of(late_item(), now=timezone.now()) is None
    paid = make_quoted(make_merchant())
    pay(paid, 25_030_000)
    pay(paid, 25_030_000)
    assert worths_of(InboxItem.objects.get(reason=InboxReason.EXTRA), now=timezone.now()) is None


def test_a_person_sees_both_on_the_item_and_before_accepting_it(owner: Desk) -> None:
    item = late(25_030_000, owner.merchant)
    pages = (
        owner.get(ITEM, item_id=item.pk).text,
        owner.get(DECIDE, f"?act={InboxAct.ACCEPT_LATE}", item_id=item.pk).text,
    )
    for page in pages:
        assert "23.00 EUR at the rate of its checkout" in page
        assert "20.85 EUR at the rate of now" in page
    assert "23.00 EUR (25.03 USD)" in pages[0]
    Rate.objects.all().delete()
    assert "There is no agreed rate now." in owner.get(ITEM, item_id=item.pk).text


def test_an_item_in_usd_says_nothing_of_rates(owner: Desk) -> None:
    page = owner.get(ITEM, item_id=late_item(merchant=owner.merchant).pk).text
    assert "25.00 USD" in page
    assert "at the rate of" not in page
