"""The queue of changed transfers: one that cannot be decided holds up no other."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, OperationalError, transaction

from tests.factories import NOON
from tests.wallets.factories import make_deposit
from tests.wallets.transfers.test_service import new_transfer
from wallets.models import Transfer, TransferClaim
from wallets.models.transfers import TransferQuerySet
from wallets.states import ClaimKind
from wallets.transfers.service import (
    SET_ASIDE,
    claim_transfers,
    process_queue,
    put_on_queue,
    record_transfers,
    take_off_queue,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def ids() -> list[int]:
    """Three transfers that wait to be decided."""
    deposit = make_deposit()
    record_transfers([new_transfer(deposit) for _ in range(3)], now=NOON)
    return list(Transfer.objects.order_by("pk").values_list("pk", flat=True))


def waiting() -> list[int]:
    queued = Transfer.objects.queued(ClaimKind.CHECKOUT)
    return sorted(queued.values_list("pk", flat=True))


def decide(queued: TransferQuerySet) -> int:
    """Take off what is given."""
    keys = list(queued.values_list("pk", flat=True))
    take_off_queue(keys, decided=keys, postponed=[], now=NOON, later=NOON)
    return len(keys)


def test_batches_are_decided_until_nothing_waits(ids: list[int]) -> None:
    sizes: list[int] = []

    def note(queued: TransferQuerySet) -> int:
        sizes.append(decide(queued))
        return sizes[-1]

    assert process_queue(ClaimKind.CHECKOUT, note, now=NOON, batch=2) == len(ids) == 3
    assert sizes == [2, 1, 0]
    assert waiting() == []
    assert Transfer.objects.filter(decided_at=NOON).count() == 3


def test_one_that_fails_is_set_aside_and_the_others_are_decided(ids: list[int]) -> None:
    def fails_on_the_second(queued: TransferQuerySet) -> int:
        if queued.filter(pk=ids[1]).exists():
            raise ValueError("no decision")
        return decide(queued)

    done = process_queue(ClaimKind.CHECKOUT, fails_on_the_second, now=NOON, batch=1)
    assert done == 1
    done = process_queue(ClaimKind.CHECKOUT, fails_on_the_second, now=NOON, batch=1)
    assert done == 1
    assert waiting() == [ids[1]]
    assert Transfer.objects.get(pk=ids[1]).queued_at == NOON + SET_ASIDE


def test_a_database_that_is_away_sets_nothing_aside(ids: list[int]) -> None:
    def is_away(queued: TransferQuerySet) -> int:
        raise OperationalError

    with pytest.raises(OperationalError):
        process_queue(ClaimKind.CHECKOUT, is_away, now=NOON)
    assert set(Transfer.objects.values_list("queued_at", flat=True)) == {NOON}


def test_what_is_postponed_comes_again_and_is_not_decided(ids: list[int]) -> None:
    later = NOON + timedelta(hours=1)
    take_off_queue(ids, decided=ids[:1], postponed=ids[1:2], now=NOON, later=later)
    rows = Transfer.objects.order_by("pk").values_list("queued_at", "decided_at")
    assert list(rows) == [(None, NOON), (later, None), (None, None)]
    # The postponed one waits already.
    assert put_on_queue(ids, now=NOON) == 2


def test_a_transfer_is_claimed_once_whatever_for(ids: list[int]) -> None:
    claim_transfers(ids[:1], ClaimKind.X402, now=NOON)
    with pytest.raises(IntegrityError), transaction.atomic():
        claim_transfers(ids[:2], ClaimKind.CHECKOUT, now=NOON)
    [claim] = TransferClaim.objects.all()
    assert (claim.transfer_id, claim.kind) == (ids[0], "x402")
