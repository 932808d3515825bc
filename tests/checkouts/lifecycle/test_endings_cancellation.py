"""Cancelling an unpaid checkout: what the API answers, what is refused, and what becomes of money that still comes."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from checkouts.inbox.service import apply_decisions
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.models import Checkout, InboxItem, TestStep
from checkouts.options import may_begin_again
from checkouts.states import CheckoutStatus, InboxAct, InboxReason
from checkouts.states import TestScenario as Scenario
from checkouts.testmode import play_due_steps
from gateway.core.api.errors import ConflictError
from tests.checkouts.arrivals import Till
from tests.checkouts.inboxes import DONE, decide
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, credited, events_of, fresh, inbox_of, last_body
from tests.contract.client import ApiClient, client_of
from tests.contract.payments import BRING_TO, expire
from tests.factories import NOON, checkout_counts, make_checkout, make_transfer
from tests.totals import differences

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes", "still_clock")]

AT_ONCE = NOON + timedelta(seconds=30)


def cancel(client: ApiClient, checkout_id: str) -> Any:
    return client.post(f"/checkouts/{checkout_id}/cancel", b"")


def cancelled(**overrides: Any) -> Checkout:
    checkout = make_checkout(**overrides)
    assert cancel_checkout(checkout.pk, now=SOON)
    return fresh(checkout)


def test_an_unpaid_checkout_is_expired_and_cancelled_at_once(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    answer = cancel(seller, checkout_id)
    assert answer.status == 200
    assert (answer.body["status"], answer.body["cancelled"]) == ("expired", True)
    assert answer.body["expires_at"] == "2026-11-20T12:00:30.000000Z"
    assert answer.body == seller.get(f"/checkouts/{checkout_id}").body
    checkout = Checkout.objects.get(public_id=checkout_id)
    assert events_of(checkout) == ["expired"]
    assert last_body(checkout)["data"]["cancelled"] is True
    [entry] = AuditEntry.objects.filter(action="checkout.cancelled")
    assert entry.object_id == checkout_id
    assert entry.actor_label.startswith("API key ")


def test_what_refuses_a_payment_calls_it_cancelled_and_not_expired(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    cancel(seller, checkout_id)
    answer = seller.post(f"/checkouts/{checkout_id}/options", {"chain": "base", "token": "USDC"})
    assert (answer.status, answer.error["message"]) == (409, "The checkout is cancelled and takes no payment.")


def test_a_repeat_answers_the_same_and_does_nothing_more(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    first, second = cancel(seller, checkout_id), cancel(seller, checkout_id)
    assert (second.status, second.body) == (200, first.body)
    checkout = Checkout.objects.get(public_id=checkout_id)
    assert events_of(checkout) == ["expired"]
    assert AuditEntry.objects.filter(action="checkout.cancelled").count() == 1


@pytest.mark.parametrize("status", [s for s in CheckoutStatus if s != CheckoutStatus.PENDING])
def test_what_was_paid_or_has_ended_is_not_cancelled(status: CheckoutStatus, seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    BRING_TO[status](checkout_id)
    before = seller.get(f"/checkouts/{checkout_id}").body
    answer = cancel(seller, checkout_id)
    assert (answer.status, answer.code) == (409, "state_conflict")
    assert seller.get(f"/checkouts/{checkout_id}").body == before
    assert before["cancelled"] is False
    assert not AuditEntry.objects.filter(action="checkout.cancelled").exists()


@pytest.mark.parametrize("mode", Mode)
def test_a_stranger_or_the_other_mode_finds_nothing_to_cancel(mode: Mode, seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    stranger = client_of(seller.merchant if mode == Mode.TEST else None, mode)
    answer = cancel(stranger, checkout_id)
    assert answer.refusal == (404, "resource_missing", "checkout_id")
    assert Checkout.objects.get().status == CheckoutStatus.PENDING


def test_money_that_was_recorded_and_not_judged_yet_refuses_it() -> None:
    checkout = make_checkout()
    Watcher().sees(checkout)
    with pytest.raises(ConflictError, match="has received money"):
        cancel_checkout(checkout.pk, now=SOON)
    attribute()
    assert fresh(checkout).status == CheckoutStatus.PROCESSING
    assert credited(checkout) == 1


def test_money_in_a_wallet_that_may_be_its_own_refuses_it_until_it_is_judged() -> None:
    till = Till()
    checkout, other = till.checkout(), till.checkout("99.00", suffix=100)
    till.sees(99 * DOLLAR + 100)
    with pytest.raises(ConflictError, match="Try again"):
        cancel_checkout(checkout.pk, now=SOON)
    attribute()
    assert credited(other) == 1
    assert cancel_checkout(checkout.pk, now=SOON)


def test_money_for_it_in_the_inbox_refuses_it_until_somebody_decides() -> None:
    checkout = make_checkout()
    Watcher().sees(checkout, token="EURC")
    attribute()
    assert inbox_of(checkout) == [InboxReason.WRONG_TOKEN]
    with pytest.raises(ConflictError, match="waits in the inbox"):
        cancel_checkout(checkout.pk, now=SOON)
    decide(InboxItem.objects.get(), InboxAct.DISMISS)
    apply_decisions(now=DONE)
    assert cancel_checkout(checkout.pk, now=SOON)


def test_a_credit_that_is_being_done_refuses_it() -> None:
    other = make_checkout()
    checkout = make_checkout(other.merchant)
    Watcher().sees(other, token="USDbC")
    attribute()
    decide(InboxItem.objects.get(), InboxAct.CREDIT, checkout=checkout)
    with pytest.raises(ConflictError, match="waits in the inbox"):
        cancel_checkout(checkout.pk, now=SOON)


@pytest.mark.parametrize("minutes", [-1, 0, 1, 60])
def test_money_that_is_seen_afterwards_is_late(minutes: int) -> None:
    checkout = cancelled()
    Watcher().sees(checkout, at=SOON + timedelta(minutes=minutes))
    attribute()
    assert inbox_of(checkout) == [InboxReason.LATE]
    assert "cancelled" in InboxItem.objects.get().explanation
    assert credited(checkout) == 0
    assert fresh(checkout).status == CheckoutStatus.EXPIRED
    assert events_of(checkout) == ["expired"]


def test_its_exact_amount_is_late_money_too() -> None:
    till = Till()
    checkout = till.checkout(suffix=3_700)
    assert cancel_checkout(checkout.pk, now=SOON)
    till.sees(25 * DOLLAR + 3_700)
    attribute()
    assert inbox_of(checkout) == [InboxReason.LATE]
    assert credited(checkout) == 0


def test_late_money_can_be_accepted_into_a_successor() -> None:
    checkout = cancelled()
    make_transfer(checkout, 25 * DOLLAR, state="confirmed", confirmed_at=SOON)
    attribute()
    decide(InboxItem.objects.get(), InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    successor = Checkout.objects.get(replaces=checkout)
    assert successor.status == CheckoutStatus.COMPLETED
    assert successor.cancelled_at is None


def test_counts_and_days_hold_a_cancelled_one_as_expired(seller: ApiClient) -> None:
    cancel(seller, seller.created()["id"])
    today = NOON.date()
    assert not differences(since=today, until=today + timedelta(days=1))
    assert checkout_counts(Merchant.objects.get()) == {"expired": 1}


def test_its_time_never_grows(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    over = NOON - timedelta(minutes=5)
    Checkout.objects.update(expires_at=over)
    assert cancel(seller, checkout_id).status == 200
    assert Checkout.objects.get().expires_at == over


def test_its_buyer_may_not_begin_again() -> None:
    checkout = make_checkout()
    checkout.merchant.buyers_may_retry = True
    checkout.merchant.save()
    assert cancel_checkout(checkout.pk, now=SOON)
    assert not may_begin_again(fresh(checkout))


def test_its_page_says_so_and_shows_no_address(client: Any) -> None:
    checkout = cancelled()
    page = client.get(f"/c/{checkout.code}").content.decode()
    assert "This checkout was cancelled" in page
    assert "Halden Roasters cancelled it." in " ".join(page.split())
    assert checkout.offers["base"]["address"] not in page


@pytest.mark.parametrize("scenario", Scenario)
def test_a_cancelled_test_checkout_plays_nothing_but_late_money(scenario: Scenario) -> None:
    client = client_of(mode=Mode.TEST)
    checkout_id = client.created(test_scenario=scenario)["id"]
    assert cancel(client, checkout_id).body["status"] == "expired"
    for seconds in (5, 10, 15, 20):
        play_due_steps(now=AT_ONCE + timedelta(seconds=seconds))
    checkout = Checkout.objects.get()
    late = [InboxReason.LATE] if scenario == Scenario.LATE else []
    assert inbox_of(checkout) == late
    assert events_of(checkout) == ["expired"]
    assert not TestStep.objects.filter(done_at=None).exists()


def test_one_that_expired_by_itself_was_not_cancelled(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    expire(checkout_id)
    body = seller.get(f"/checkouts/{checkout_id}").body
    assert (body["status"], body["cancelled"]) == ("expired", False)
