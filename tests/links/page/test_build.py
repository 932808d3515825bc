"""What a link's page shows in each state."""

import pytest

from accounts.states import Mode
from checkouts.models import Checkout
from links.models import PaymentLink, Subscription
from links.tokens import new_form
from tests.links.factories import make_invoice, make_link, make_link_checkout, make_paid_invoice
from tests.links.page.pages import MAKERS, path_of
from tests.links.payer import Payer

WORDS = {
    "custom": ["Pay $25.00", "Continue to payment", "Payment link"],
    "invoice": ["Pay this invoice of $25.00", "Continue to payment"],
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
