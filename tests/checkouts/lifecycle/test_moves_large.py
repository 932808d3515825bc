"""What a checkout gets in parts is believed as one large payment is: by two nodes, whatever the parts."""

from datetime import timedelta
from typing import Any

import pytest

from checkouts.lifecycle import moves
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.checkouts.arrivals import Till, reference_of
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, events_of, fresh, last_body, status_of
from tests.factories import make_checkout, make_merchant
from wallets.models import Transfer, WitnessRequest
from wallets.states import TransferState

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
PROCESSING, COMPLETED = CheckoutStatus.PROCESSING, CheckoutStatus.COMPLETED


def pay_in_parts(*dollars: int, amount: int = 12_000, **more: Any) -> Checkout:
    """A checkout on its own address, each part of which is final by depth before the next one comes."""
    checkout, watcher = make_checkout(amount=amount, **more), Watcher()
    for part in dollars:
        watcher.sees(checkout, part * DOLLAR)
        watcher.confirms()
        attribute()
    return checkout


def second_node_agrees() -> None:
    """Answer every request, as `LargeAmounts` does."""
    WitnessRequest.objects.filter(answered_at=None).update(answered_at=SOON)
    Transfer.objects.update(queued_at=SOON)
    attribute()


@pytest.mark.parametrize("parts", [(6_000, 6_000), (4_000, 4_000, 4_000), (9_999, 2_001), (11_000, 1_000)])
def test_parts_of_a_large_sum_wait_for_a_second_node(parts):
    checkout = pay_in_parts(*parts)
    Transfer.objects.filter(units__gte=10_000 * DOLLAR).update(
        state=TransferState.CONFIRMED, confirmed_at=SOON, queued_at=SOON
    )
    attribute()
    assert status_of(checkout) == PROCESSING
    small = Transfer.objects.filter(units__lt=10_000 * DOLLAR)
    assert set(WitnessRequest.objects.values_list("transfer", flat=True)) == set(small.values_list("pk", flat=True))
    second_node_agrees()
    assert status_of(checkout) == COMPLETED
    assert fresh(checkout).exception == ""


def test_without_asking_for_parts_one_node_would_complete_a_large_checkout(monkeypatch):
    """The negative control of the test above."""
    monkeypatch.setattr(moves, "unvouched_parts", lambda *_: {})
    assert status_of(pay_in_parts(6_000, 6_000)) == COMPLETED


@pytest.mark.parametrize(("amount", "parts"), [(9_999, (5_000, 4_999)), (50, (50,)), (9_000, (9_000,))])
def test_what_is_not_large_together_waits_for_nobody(amount, parts):
    assert status_of(pay_in_parts(*parts, amount=amount)) == COMPLETED
    assert not WitnessRequest.objects.exists()


def test_parts_on_several_chains_are_one_sum():
    till = Till(make_merchant())
    checkout = till.checkout("12000.00", suffix=100, chains=("ethereum", "solana"))
    labels = (reference_of(checkout),)
    till.sees(6_000 * DOLLAR, labels=labels)
    till.confirms()
    attribute()
    till.sees(6_000 * DOLLAR, chain="solana", labels=labels)
    till.confirms()
    attribute()
    assert status_of(checkout) == PROCESSING


def test_a_reorg_asks_for_the_second_nodes_word_again():
    checkout, watcher = make_checkout(amount=12_000), Watcher()
    watcher.sees(checkout, 6_000 * DOLLAR)
    second = watcher.sees(checkout, 6_000 * DOLLAR)
    attribute()
    WitnessRequest.objects.update(answered_at=SOON)
    watcher.loses(second)
    attribute()
    watcher.finds_again(second)
    watcher.confirms()
    attribute()
    assert status_of(checkout) == PROCESSING
    assert WitnessRequest.objects.get(answered_at=None).transfer == second


def test_a_short_sum_that_waits_for_a_second_node_stays_underpaid_and_does_not_expire():
    checkout = pay_in_parts(6_000, 6_000, amount=20_000)
    assert status_of(checkout) == CheckoutStatus.UNDERPAID
    assert fresh(checkout).underpaid_reported == 6_000
    for chain in ("base", "polygon"):
        Watcher(chain).read_through(checkout.expires_at + timedelta(hours=1))
    day = timedelta(hours=24)
    assert expire_due_checkouts(now=checkout.expires_at + day - SECOND) == 0
    second_node_agrees()
    assert events_of(checkout) == ["underpaid"] * 2
    assert last_body(checkout)["data"]["amount_received"] == "12000.000000"
    assert expire_due_checkouts(now=checkout.expires_at + day - SECOND) == 1


def test_a_second_node_that_is_down_holds_no_expiry_up_for_longer_than_a_day():
    checkout = pay_in_parts(6_000, 6_000, amount=20_000)
    assert expire_due_checkouts(now=checkout.expires_at + timedelta(hours=24)) == 1


def test_a_completed_checkout_of_an_older_version_stays_as_it_is():
    checkout = pay_in_parts(6_000, 6_000)
    WitnessRequest.objects.all().delete()
    Checkout.objects.filter(pk=checkout.pk).update(status=COMPLETED, paid_at=SOON)
    Transfer.objects.update(queued_at=SOON)
    attribute()
    assert fresh(checkout).exception == ""
    assert not WitnessRequest.objects.exists()
