"""Accepting short money on a checkout's page: who may, what it says meanwhile and afterwards, and what the buyer reads."""

from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.inbox.acceptances import apply_acceptances
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.lifecycle.moves import expire
from checkouts.models import Acceptance, Checkout
from checkouts.states import CheckoutStatus
from tests.checkouts.dashboard.opened import page_of
from tests.checkouts.inboxes import LATER, late_for
from tests.checkouts.watcher import DOLLAR, pay, status_of
from tests.dashboard.people import Desk
from tests.factories import make_checkout

pytestmark = pytest.mark.django_db

BUTTON = "Accept as paid…"


@pytest.fixture
def short(owner: Desk) -> Checkout:
    """A checkout of 25 USD that received 20."""
    checkout = make_checkout(owner.merchant)
    pay(checkout, 20 * DOLLAR)
    return checkout


def let_it_expire(checkout: Checkout) -> None:
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=LATER)


def accept(desk: Desk, checkout: Checkout, accepted: str = "20.000000") -> Any:
    return desk.post("dashboard_accept", {"accepted": accepted}, checkout_id=checkout.public_id)


def undo(desk: Desk, checkout: Checkout) -> Any:
    acceptance = Acceptance.objects.order_by("-pk")[0]
    return desk.post("dashboard_undo_acceptance", checkout_id=checkout.public_id, acceptance_id=acceptance.pk)


def carry_out() -> int:
    """Let the half minute pass."""
    return apply_acceptances(now=timezone.now() + UNDO_SPAN)


def seen_by_buyer(checkout: Checkout, client: Client) -> str:
    """The buyer's page, its white space folded."""
    answer = client.get(f"/c/{checkout.code}")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_the_page_says_what_is_missing_and_an_admin_accepts_it(admin: Desk, short: Checkout) -> None:
    page = page_of(admin, short)
    assert "5.00 USD</span> is missing" in page
    assert BUTTON in page
    assert 'name="accepted" value="20.000000"' in page
    assert accept(admin, short).status_code == 302
    page = page_of(admin, short)
    assert "Being accepted as paid" in page
    assert BUTTON not in page
    assert status_of(short) == CheckoutStatus.UNDERPAID
    assert carry_out() == 1
    page = page_of(admin, short)
    assert "Accepted, part paid" in page
    assert f"20.00 of 25.00 USD, by {admin.user.email}" in page
    assert "Being accepted" not in page


def test_short_money_of_an_expired_checkout_is_not_called_late(owner: Desk, short: Checkout) -> None:
    let_it_expire(short)
    accept(owner, short)
    assert carry_out() == 1
    page = page_of(owner, short)
    assert "A new checkout took it" in page
    assert "Late payment accepted" not in page
    page = page_of(owner, Checkout.objects.get(replaces=short))
    assert "25.00 USD, with the money of the expired checkout" in page
    assert "to accept late money" not in page


def test_it_is_undone_by_a_colleague_and_accepted_again(owner: Desk, admin: Desk, short: Checkout) -> None:
    accept(owner, short)
    assert undo(admin, short).status_code == 302
    page = page_of(owner, short)
    assert "Undone. Nothing has changed." in page_of(admin, short)
    assert BUTTON in page
    assert carry_out() == 0
    accept(owner, short)
    assert carry_out() == 1
    undo(owner, short)
    assert "already taken effect" in page_of(owner, short)


def test_an_expired_checkout_says_that_a_new_one_takes_the_money(owner: Desk, short: Checkout) -> None:
    let_it_expire(short)
    page = page_of(owner, short)
    assert "a new checkout with the same price and references takes it" in page
    accept(owner, short)
    assert owner.get("dashboard_checkout_live", checkout_id=short.public_id).status_code == 200
    carry_out()
    successor = Checkout.objects.get(replaces=short)
    page = page_of(owner, short)
    assert owner.url("dashboard_checkout", checkout_id=successor.public_id) in page
    assert BUTTON not in page
    assert "Accepted, part paid" in page_of(owner, successor)


def test_one_that_could_not_take_effect_says_why(owner: Desk, short: Checkout) -> None:
    accept(owner, short)
    last = short.payments.get().transfer
    type(last).objects.filter(pk=last.pk).update(state="detected", confirmed_at=None)
    assert carry_out() == 0
    type(last).objects.filter(pk=last.pk).update(state="confirmed", confirmed_at=timezone.now())
    page = page_of(owner, short)
    assert "It was not accepted as paid: Some of this money is not final yet." in page
    assert BUTTON in page


def test_a_page_that_is_out_of_date_accepts_nothing(owner: Desk, short: Checkout) -> None:
    pay(short, 2 * DOLLAR)
    assert accept(owner, short).status_code == 302
    assert "changed since you opened the page" in page_of(owner, short)
    assert not Acceptance.objects.exists()


@pytest.mark.parametrize("accepted", ["", "20.00 USD", "NaN", "-20", "2e1", "٢٠", "20.0000001", "9" * 40])
def test_a_form_that_is_not_ours_is_refused(accepted: str, owner: Desk, short: Checkout) -> None:
    assert accept(owner, short, accepted).status_code == 400
    assert not Acceptance.objects.exists()


def test_a_viewer_sees_it_and_may_not(owner: Desk, viewer: Desk, short: Checkout) -> None:
    page = page_of(viewer, short)
    assert "5.00 USD</span> is missing" in page
    assert BUTTON not in page
    assert accept(viewer, short).status_code == 403
    accept(owner, short)
    page = page_of(viewer, short)
    assert "Being accepted as paid" in page
    assert ">Undo<" not in page
    assert undo(viewer, short).status_code == 403


def test_another_tenants_checkout_does_not_exist(owner: Desk, stranger: Desk, short: Checkout) -> None:
    elsewhere = Desk(stranger.client, stranger.user.memberships.get().merchant, stranger.user)
    in_test = Desk(owner.client, owner.merchant, owner.user, Mode.TEST)
    for desk in (stranger, elsewhere, in_test):
        assert accept(desk, short).status_code == 404
    accept(owner, short)
    for desk in (stranger, elsewhere, in_test):
        assert undo(desk, short).status_code == 404
    other = make_checkout(owner.merchant)
    assert undo(owner, other).status_code == 404
    assert carry_out() == 1


@pytest.mark.usefixtures("chains_are_well")
def test_the_buyer_reads_that_it_was_accepted(owner: Desk, short: Checkout, client: Client) -> None:
    accept(owner, short)
    assert "accepted your" not in seen_by_buyer(short, client)
    carry_out()
    page = seen_by_buyer(short, client)
    assert f"{owner.merchant.name} accepted your 20.00 USDC as full payment." in page
    assert "Payment complete" in page


def test_the_buyer_of_an_expired_one_reads_it_too_and_gets_the_receipt(
    owner: Desk, short: Checkout, client: Client
) -> None:
    let_it_expire(short)
    page = seen_by_buyer(short, client)
    assert "This checkout has expired" in page
    accept(owner, short)
    carry_out()
    page = seen_by_buyer(short, client)
    successor = Checkout.objects.get(replaces=short)
    assert "Your payment was accepted" in page
    assert f"/c/{successor.code}/receipt" in page
    assert "This checkout has expired" not in page
    assert "Ask" not in page.partition("Your payment was accepted")[2].partition("View receipt")[0]


def test_late_money_that_was_accepted_is_called_so_too(owner: Desk, short: Checkout, client: Client) -> None:
    let_it_expire(short)
    accept(owner, short)
    late_for(short, 5 * DOLLAR)
    carry_out()
    assert "Your payment was accepted" in seen_by_buyer(short, client)
