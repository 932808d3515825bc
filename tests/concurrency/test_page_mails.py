"""One page that is mailed to many at once."""

from functools import partial

import pytest
from django.test import RequestFactory
from django.utils import timezone

from checkouts.models import Checkout
from checkouts.page.mailing import MOST_OF_PAGE, mail_page
from gateway.core.api.errors import RateLimitError
from mails.models import OutgoingMail
from tests.checkouts.factories import make_page_checkout
from tests.concurrency.races import behind, together
from tests.concurrency.test_inbox import no_lock_on

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

CROWD = MOST_OF_PAGE + 3
# Nobody writes a mail meanwhile, and all may count them.
NO_MAILS = "LOCK TABLE mails_outgoingmail IN SHARE MODE"


def ask(checkout: Checkout, number: int) -> bool:
    """Mail the page to an address of its own, from a client of its own; whether it was taken."""
    request = RequestFactory().post("/", REMOTE_ADDR=f"203.0.113.{number}")
    try:
        return mail_page(request, checkout, f"{number}@buyer.example", language="en", now=timezone.now())
    except RateLimitError:
        return False


def test_of_many_at_once_five_addresses_get_a_page() -> None:
    checkout = make_page_checkout()
    taken = together(*(partial(ask, checkout, number) for number in range(CROWD)))
    assert (sum(taken), OutgoingMail.objects.count()) == (MOST_OF_PAGE, MOST_OF_PAGE)


def test_without_the_checkouts_lock_a_page_would_be_mailed_to_more(monkeypatch: pytest.MonkeyPatch) -> None:
    no_lock_on(monkeypatch, Checkout)
    checkout = make_page_checkout()
    taken = behind(NO_MAILS, works=[partial(ask, checkout, number) for number in range(CROWD)])
    assert (sum(taken), OutgoingMail.objects.count()) == (CROWD, CROWD)
