"""What a subscriber's own page shows in each phase."""

from datetime import timedelta

import pytest
from django.utils import timezone, translation
from django.utils.formats import date_format

from accounts.states import Mode
from checkouts.models import Checkout
from links.states import Interval
from links.subscriptions.periods import coverage
from tests.links.payer import Payer
from tests.links.subscriptions.paid import paid_at, path_of
from tests.links.troubles import TROUBLES, bring


@pytest.mark.parametrize(
    ("days_ago", "heading", "offers"),
    [
        (0, "Thank you", False),
        (1, "Paid until", False),
        (26, "Paid until", True),
        (40, "This subscription ended on", True),
    ],
)
def test_renewing_is_offered_only_near_its_date(days_ago: int, heading: str, offers: bool, payer: Payer) -> None:
    subscription = paid_at(timezone.now() - timedelta(days=days_ago))
    text = payer.look(path_of(subscription))
    assert heading in text
    assert ("Pay the next period" in text) is offers
    paid = Checkout.objects.get()
    assert (f"/c/{paid.code}/receipt" in text) is (heading != "This subscription ended on")


def test_a_payment_just_made_is_thanked_for_and_names_the_next_date(payer: Payer) -> None:
    moment = timezone.now()
    subscription = paid_at(moment)
    covered = coverage([moment], Interval.MONTH)
    assert covered
    text = payer.look(f"{path_of(subscription)}?status=completed&lang=de")
    assert "Vielen Dank" in text
    for day in (covered.until, covered.renewable_at):
        with translation.override("de"):
            assert date_format(day, "DATE_FORMAT") in text
    assert f"/c/{Checkout.objects.get().code}/receipt?lang=de" in text


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("days_ago", [0, 1, 26, 40])
def test_a_period_whose_payment_was_reversed_or_is_in_doubt_is_not_called_paid(
    trouble: str, days_ago: int, payer: Payer
) -> None:
    subscription = paid_at(timezone.now() - timedelta(days=days_ago), mode=Mode.LIVE)
    end = bring(trouble, Checkout.objects.get())
    text = payer.look(path_of(subscription))
    # What is over is over: the page asks for the next period.
    has_ended = days_ago == 40
    assert (TROUBLES[trouble] in text) is not has_ended
    assert ("This subscription ended on" in text) is has_ended
    for words in ("Paid until", "Thank you", "/receipt", "outcome__mark--ok"):
        assert words not in text
    end()
    assert TROUBLES[trouble] not in payer.look(path_of(subscription))


def test_a_lapsed_subscription_says_so_and_begins_again_when_paid(payer: Payer) -> None:
    subscription = paid_at(timezone.now() - timedelta(days=40))
    text = payer.look(path_of(subscription))
    assert "This subscription ended on" in text
    assert "The new period starts when you pay" in text
