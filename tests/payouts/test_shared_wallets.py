"""Merchants of one owner who watch one wallet: what leaves it pays one payout of theirs."""

import secrets
from collections.abc import Sequence

import pytest

from accounts.models import Membership
from accounts.states import Role
from payouts.following import attaching
from payouts.following.attaching import attach
from payouts.following.service import SET_ASIDE, follow_movements
from payouts.models import Payout, PayoutBatch, PayoutSurplus
from payouts.outflows.lost_outflows import seem_paid
from payouts.states import PayoutStatus
from tests.factories import WALLET, make_merchant
from tests.payouts.factories import SENT, approved, make_approver, make_batch, make_payout, status_of
from tests.wallets.days import make_movement, make_watched
from wallets.models import WatchedMovement, WatchedWallet
from wallets.states import Direction

pytestmark = pytest.mark.django_db

APPROVED, PAID = PayoutStatus.APPROVED, PayoutStatus.PAID


@pytest.fixture
def two() -> list[Payout]:
    """What two merchants of one owner owe one recipient: the same amount. Both watch one wallet."""
    merchants = [make_merchant("First"), make_merchant("Second")]
    owner = make_approver(merchants[0])
    Membership.objects.create(merchant=merchants[1], user=owner, role=Role.OWNER)
    for merchant in merchants:
        make_watched(merchant, WALLET, expected_until=SENT)
    return [approved(make_payout(merchant), owner) for merchant in merchants]


def send(payouts: Sequence[Payout]) -> list[WatchedMovement]:
    """Pay a recipient by one transaction of the wallet, which is written for each merchant, in their order."""
    tx_hash = f"0x{secrets.token_hex(32)}"
    return [
        make_movement(
            WatchedWallet.objects.get(merchant=payout.merchant, address=WALLET),
            int(payout.units),
            direction=Direction.OUT,
            counterparty=payout.address,
            tx_hash=tx_hash,
            queued_at=SENT,
        )
        for payout in payouts
    ]


def statuses(payouts: Sequence[Payout]) -> list[PayoutStatus]:
    return [status_of(payout) for payout in payouts]


@pytest.mark.parametrize("is_turned", [False, True])
def test_one_outflow_pays_one_of_them_and_the_next_one_the_other(two: list[Payout], is_turned: bool) -> None:
    seen = two[::-1] if is_turned else two
    send(seen)
    follow_movements(now=SENT)
    assert statuses(two) == [PAID, APPROVED]
    # What paid the first does not keep the second from being paid.
    assert seem_paid(two[1:]) == []
    send(seen)
    follow_movements(now=SENT)
    assert statuses(two) == [PAID, PAID]
    assert not PayoutSurplus.objects.exists()


def test_without_the_look_at_the_others_one_outflow_would_pay_both(
    two: list[Payout], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test above."""
    monkeypatch.setattr(attaching, "merchants_of_its_owners", lambda _: [])
    send(two)
    follow_movements(now=SENT)
    assert statuses(two) == [PAID, PAID]


def test_the_one_that_the_wallet_was_asked_for_comes_first(two: list[Payout]) -> None:
    batch = make_batch(two[1].merchant)
    # Its maker owns one of them alone.
    Membership.objects.filter(user=batch.created_by).delete()
    PayoutBatch.objects.update(wallet=WatchedWallet.objects.get(merchant=two[1].merchant, address=WALLET))
    Payout.objects.filter(pk=two[1].pk).update(status=PayoutStatus.SENDING, batch=batch)
    send(two)
    follow_movements(now=SENT)
    assert statuses(two) == [APPROVED, PAID]


def test_the_other_merchant_looks_also_where_its_row_was_not_on_the_queue(two: list[Payout]) -> None:
    first, _ = send(two)
    WatchedMovement.objects.filter(pk=first.pk).update(queued_at=None)
    follow_movements(now=SENT)
    assert statuses(two) == [APPROVED, APPROVED]
    follow_movements(now=SENT + SET_ASIDE)
    assert statuses(two) == [PAID, APPROVED]


def test_a_person_names_no_transaction_that_paid_the_other(two: list[Payout]) -> None:
    _, second = send(two)
    follow_movements(now=SENT)
    assert not attach(two[1].pk, second.pk)
    assert statuses(two) == [PAID, APPROVED]


def test_a_merchant_with_one_more_owner_takes_nothing(two: list[Payout]) -> None:
    """Who is invited to own another merchant, too, lets that one's owners take nothing of their own."""
    make_approver(two[0].merchant)
    send(two)
    follow_movements(now=SENT)
    assert statuses(two) == [PAID, PAID]


def test_a_stranger_who_watches_the_wallet_takes_nothing(two: list[Payout]) -> None:
    Membership.objects.filter(merchant=two[0].merchant).delete()
    make_approver(two[0].merchant)
    send(two)
    follow_movements(now=SENT)
    assert statuses(two) == [PAID, PAID]
