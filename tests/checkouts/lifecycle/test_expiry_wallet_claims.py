"""A wallet that was taken over by a proof is released once its merchant's checkouts have run out."""

from datetime import timedelta

import pytest

from checkouts.lifecycle.expiry import release_claims
from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from checkouts.tasks import release_claims_task
from tests.checkouts.arrivals import Till
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant
from wallets.models import ReceivingWallet, WalletChange, WalletProof

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(minutes=11)


@pytest.fixture
def till() -> Till:
    """A merchant with wallets, of which the one on Ethereum was taken over at noon."""
    till = Till()
    wallet = till.wallets["ethereum"]
    ReceivingWallet.objects.filter(pk=wallet.pk).update(retired_at=NOON, taken_over_at=NOON)
    other = make_merchant()
    person = make_member(other)
    times = {"requested_by": person, "requested_at": NOON}
    claim = {"merchant": other, "chain": "ethereum", "address": wallet.address}
    proof = WalletProof.objects.create(nonce="n", expires_at=LATER, used_at=NOON, **claim, **times)
    WalletChange.objects.create(effective_at=NOON, proof=proof, **claim, **times)
    return till


def end(checkout: Checkout, status: CheckoutStatus = CheckoutStatus.EXPIRED) -> None:
    Checkout.objects.filter(pk=checkout.pk).update(status=status)


def test_without_checkouts_it_is_released(till: Till) -> None:
    assert release_claims(now=LATER) == 1
    assert release_claims(now=LATER) == 0
    assert ReceivingWallet.objects.get(pk=till.wallets["ethereum"].pk).released_at == LATER


def test_a_live_checkout_keeps_it_even_before_an_amount_was_chosen(till: Till) -> None:
    checkout = till.checkout()
    assert release_claims(now=LATER) == 0
    end(checkout)
    assert release_claims(now=LATER) == 1


def test_a_cooling_amount_keeps_it_until_it_is_released(till: Till) -> None:
    end(till.checkout(suffix=100))
    assert release_claims(now=LATER) == 0
    AmountReservation.objects.update(released_at=LATER)
    assert release_claims(now=LATER) == 1


def test_checkouts_elsewhere_do_not_keep_it(till: Till) -> None:
    till.checkout(suffix=100, chains=("solana",))
    assert release_claims(now=LATER) == 1


def test_the_task_does_it(till: Till) -> None:
    assert release_claims_task() == 1
