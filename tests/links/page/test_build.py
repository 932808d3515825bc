"""What a link's page shows in each state."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone, translation
from django.utils.formats import date_format

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.states import CheckoutException
from links.models import PaymentLink, Subscription
from links.states import Interval
from links.subscriptions.periods import coverage
from links.tokens import new_form
from tests.links.factories import make_donation, make_invoice, make_link, make_link_checkout, make_paid_invoice
from tests.links.page.pages import MAKERS, path_of
from tests.links.payer import Payer
from tests.links.subscriptions.paid import paid_at
from tests.links.subscriptions.paid import path_of as personal_path_of
from tests.links.troubles import TROUBLES, bring

WORDS = {
    "custom": ["Pay $25.00", "Choose a network.", "Payment link"],
    "invoice": ["Pay this invoice of $25.00", "Choose a network."],
    "donation": ["$10", "$100", "or your own amount", "From $5.00 to $500.00"],
    "subscription": ["Pay for one month", "Nothing is charged automatically", "a month", "E-mail for reminders"],
}


@pytest.mark.parametrize("kind", MAKERS)
def test_the_page_says_what_the_link_asks_for_and_makes_nothing(payer: Payer, kind: str) -> None:
    link = MAKERS[kind](description="Two hours, six coffees")
    text = payer.look(path_of(link))
    for words in [*WORDS[kind], link.title, "Halden Roasters", "Two hours, six coffees"]:
        assert words in text
    assert "USDC, USDT" in text
    assert not Checkout.objects.exists()
    assert not Subscription.objects.exists()


@pytest.mark.parametrize("kind", ["custom", "invoice"])
def test_a_link_with_a_price_shows_its_networks_at_once(payer: Payer, kind: str) -> None:
    text = payer.look(path_of(MAKERS[kind]()))
    assert re.findall(r'name="chain" value="(\w+)"', text) == ["base", "polygon", "solana", "ton", "tron", "ethereum"]
    assert "Continue to payment" not in text


def test_the_chip_of_the_preset_amount_is_marked(payer: Payer) -> None:
    text = payer.look(path_of(make_donation(amount=Decimal("25.00"))))
    assert re.findall(r'value="([\d.]+)" aria-current="true"', text) == ["25.00"]
    assert 'aria-current="true">$' not in payer.look(path_of(make_donation()))


def test_a_paid_invoice_says_so_and_takes_nothing_more(payer: Payer) -> None:
    link = make_invoice()
    form = payer.form(path_of(link))
    make_link_checkout(link)
    text = payer.look(path_of(link))
    assert "This invoice is paid" in text
    assert f'href="/c/{Checkout.objects.get().code}/receipt"' in text
    assert "<form" not in text
    response = payer.press(path_of(link), form)
    assert "This invoice is paid" in response.content.decode()
    assert Checkout.objects.count() == 1


def test_an_invoice_that_was_accepted_for_less_says_what_came(payer: Payer) -> None:
    link = make_invoice()
    make_link_checkout(link, amount_received=Decimal(20), accepted_amount=Decimal(20))
    text = payer.look(path_of(link))
    assert "This invoice is paid" in text
    assert "received $20.00 for" in text


@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_invoice_whose_payment_was_reversed_or_is_in_doubt_says_so_and_takes_nothing_more(
    payer: Payer, trouble: str
) -> None:
    link = make_paid_invoice(mode=Mode.LIVE)
    form = new_form(link.code)
    held = payer.client.get(path_of(link))["ETag"]
    end = bring(trouble, Checkout.objects.get())
    for response in (
        payer.press(path_of(link), form),
        payer.client.get(path_of(link), headers={"If-None-Match": held}),
    ):
        assert response.status_code == 200
        text = response.text
        assert TROUBLES[trouble] in text
        for words in ("is paid", "received $25.00", "/receipt", "<form", "outcome__mark--ok"):
            assert words not in text
    assert Checkout.objects.count() == 1
    # The open page is told when it is over.
    assert payer.client.head(path_of(link), headers={"If-None-Match": response["ETag"]}).status_code == 304
    end()
    assert payer.client.head(path_of(link), headers={"If-None-Match": response["ETag"]}).status_code == 200
    assert "This invoice is paid" in payer.look(path_of(link))


def test_of_two_payments_of_an_invoice_the_one_that_was_not_reversed_counts(payer: Payer) -> None:
    link = make_paid_invoice(mode=Mode.LIVE)
    stands = Checkout.objects.get()
    make_link_checkout(link, exception=CheckoutException.REVERSED, slot="late", paid_at=timezone.now())
    text = payer.look(path_of(link))
    assert "This invoice is paid" in text
    assert f"/c/{stands.code}/receipt" in text


@pytest.mark.parametrize(
    ("status", "code", "words"), [("paused", 200, "This link is paused"), ("archived", 410, "This link is closed")]
)
def test_a_link_that_is_not_active_says_so_and_takes_no_payment(
    payer: Payer, status: str, code: int, words: str
) -> None:
    link = make_link()
    form = payer.form(path_of(link))
    PaymentLink.objects.update(status=status)
    text = payer.look(path_of(link), code)
    assert words in text
    assert "Halden Roasters" in text
    assert "<form" not in text
    response = payer.press(path_of(link), form)
    assert response.status_code == code
    assert words in response.content.decode()
    assert not Checkout.objects.exists()


def test_an_archived_invoice_is_gone_and_a_paused_one_is_paid_all_the_same(payer: Payer) -> None:
    link = make_paid_invoice(status="paused")
    assert "This invoice is paid" in payer.look(path_of(link))
    PaymentLink.objects.update(status="archived")
    payer.look(path_of(link), 410)


def test_a_merchant_who_cannot_be_paid_has_a_page_that_says_so(payer: Payer) -> None:
    link = make_link(mode=Mode.LIVE)
    text = payer.look(path_of(link))
    assert "can't take payments right now" in text
    assert "<form" not in text
    response = payer.press(path_of(link), new_form(link.code))
    assert response.status_code == 409
    assert "can't take payments right now" in response.content.decode()


def test_the_page_never_shows_what_is_the_merchants_own(payer: Payer) -> None:
    for maker in MAKERS.values():
        link = maker(
            customer_ref="secret-customer", product_ref="secret-product", webhook_url="https://secret.example/"
        )
        text = payer.look(path_of(link))
        assert "secret" not in text
        assert link.public_id not in text


# What a subscriber's own page shows in each phase.


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
    text = payer.look(personal_path_of(subscription))
    assert heading in text
    assert ("Pay the next period" in text) is offers
    paid = Checkout.objects.get()
    assert (f"/c/{paid.code}/receipt" in text) is (heading != "This subscription ended on")


def test_a_payment_just_made_is_thanked_for_and_names_the_next_date(payer: Payer) -> None:
    moment = timezone.now()
    subscription = paid_at(moment)
    covered = coverage([moment], Interval.MONTH)
    assert covered
    text = payer.look(f"{personal_path_of(subscription)}?status=completed&lang=de")
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
    text = payer.look(personal_path_of(subscription))
    # What is over is over: the page asks for the next period.
    has_ended = days_ago == 40
    assert (TROUBLES[trouble] in text) is not has_ended
    assert ("This subscription ended on" in text) is has_ended
    for words in ("Paid until", "Thank you", "/receipt", "outcome__mark--ok"):
        assert words not in text
    end()
    assert TROUBLES[trouble] not in payer.look(personal_path_of(subscription))


def test_a_lapsed_subscription_says_so_and_begins_again_when_paid(payer: Payer) -> None:
    subscription = paid_at(timezone.now() - timedelta(days=40))
    text = payer.look(personal_path_of(subscription))
    assert "This subscription ended on" in text
    assert "The new period starts when you pay" in text
