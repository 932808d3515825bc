"""A buyer mails the page to themselves: to whom, how often, in which language, and never after it takes no money."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from checkouts.models import Checkout
from checkouts.page.mailing import MOST_OF_PAGE, page_words
from mails.models import OutgoingMail
from mails.sender import send_due_mails
from tests.checkouts.factories import make_closed, make_completed, make_page_checkout, make_seen, make_test_checkout
from tests.checkouts.page.test_views import page_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

ADA = "ada@buyer.example"


def ask(client: Client, checkout: Checkout, email: str = ADA, query: str = "", **form: str) -> Any:
    return client.post(f"/c/{checkout.code}/mail{query}", {"email": email, **form})


def test_the_page_comes_by_mail_in_its_language_and_says_so(client: Client) -> None:
    checkout = make_page_checkout()
    assert "Mail me this page" in page_of(client, checkout)
    answer = ask(client, checkout, query="?lang=de", chain="polygon", token="USDT")
    address = f"/c/{checkout.code}?chain=polygon&token=USDT&notice=mailed&lang=de"
    assert (answer.status_code, answer["Location"], answer["Cache-Control"]) == (303, address, "no-store")
    send_due_mails(now=timezone.now())
    [sent] = mail.outbox
    assert sent.to == [ADA]
    assert "Halden Roasters" in sent.subject
    assert f"/c/{checkout.code}?lang=de\n" in sent.body
    assert "$49.00" in sent.body
    assert "Zahlen" in sent.body
    # What the shop wrote for its buyer goes to no address that a stranger typed.
    assert "Guji" not in sent.body
    assert "secret" not in sent.body


def test_what_was_done_is_told_on_the_page(client: Client) -> None:
    checkout = make_page_checkout()
    assert "We sent you a mail" in client.get(ask(client, checkout)["Location"]).content.decode()
    refused = client.get(ask(client, checkout, "nobody")["Location"]).content.decode()
    assert "Check it, and try again." in refused
    assert "nobody" not in refused


@pytest.mark.parametrize(
    "email", ["", "nobody", "a@b@c", "ada@buyer.example\r\nBcc: x@y.example", "x" * 400 + "@a.example"]
)
def test_nothing_is_queued_for_what_is_no_address(email: str, client: Client) -> None:
    answer = ask(client, make_page_checkout(), email)
    assert answer["Location"].endswith("?notice=not-mailed")
    assert not OutgoingMail.objects.exists()


@pytest.mark.parametrize("make", [make_test_checkout, make_seen, make_completed, make_closed])
def test_only_a_page_that_takes_real_money_can_be_mailed(make: Callable[[], Checkout], client: Client) -> None:
    checkout = make()
    assert "Mail me this page" not in page_of(client, checkout)
    ask(client, checkout)
    assert not OutgoingMail.objects.exists()


def test_other_sites_cannot_send_mail(client: Client) -> None:
    checkout = make_page_checkout()
    headers = {"Sec-Fetch-Site": "cross-site"}
    client.post(f"/c/{checkout.code}/mail", {"email": ADA}, headers=headers)
    assert not OutgoingMail.objects.exists()


def test_a_server_that_sends_no_mail_promises_none(client: Client, settings: Any) -> None:
    checkout = make_page_checkout()
    settings.PRODUCTION, settings.EMAIL_HOST = True, ""
    ask(client, checkout)
    assert not OutgoingMail.objects.exists()


def test_one_address_gets_a_page_once(client: Client) -> None:
    checkout = make_page_checkout()
    for email in (ADA, ADA.title(), ADA):
        assert ask(client, checkout, email)["Location"].endswith("notice=mailed")
    assert OutgoingMail.objects.count() == 1


@pytest.mark.usefixtures("still_window")
def test_a_page_is_mailed_to_five_addresses_whoever_asks_and_whatever_counts(client: Client) -> None:
    checkout = make_page_checkout()
    answers = [
        client.post(f"/c/{checkout.code}/mail", {"email": f"{number}@buyer.example"}, REMOTE_ADDR=f"203.0.113.{number}")
        for number in range(MOST_OF_PAGE + 2)
    ]
    assert [answer.status_code for answer in answers] == [303] * MOST_OF_PAGE + [429] * 2
    assert OutgoingMail.objects.count() == MOST_OF_PAGE


@pytest.mark.usefixtures("still_window")
def test_one_client_cannot_send_from_many_pages(client: Client) -> None:
    answers = [ask(client, make_page_checkout(), f"{number}@buyer.example") for number in range(11)]
    assert [answer.status_code for answer in answers] == [303] * 10 + [429]


def test_a_mail_that_was_not_sent_in_time_is_not_sent_at_all(client: Client) -> None:
    checkout = make_page_checkout()
    ask(client, checkout)
    subject = OutgoingMail.objects.get().key.removeprefix("page:")
    assert page_words(subject) is not None
    Checkout.objects.filter(pk=checkout.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert page_words(subject) is None
    assert page_words("chk_live_unknown:x:en") is None
