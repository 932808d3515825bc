"""Many say at once that a payment is gone, or there again: its books turn once."""

from datetime import timedelta
from functools import partial

import pytest

from accounts.fees.service import unvoid, void
from accounts.states import FeeKind
from tests.accounts.fee_entries import booked, charged
from tests.concurrency.races import behind
from tests.factories import NOON, make_merchant

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

LATER = NOON + timedelta(hours=1)
# What keeps them from being written until all are there.
HELD = "SELECT FROM accounts_merchant WHERE id = %s FOR UPDATE"


def test_what_many_take_back_at_once_is_taken_back_once() -> None:
    entry = charged(make_merchant())
    for turn, sign in ((void, -1), (unvoid, 1)):
        work = partial(turn, FeeKind.CHECKOUT, [entry.subject_id], now=LATER)
        behind(HELD, entry.merchant_id, works=[work] * 4)
        last = booked(entry.subject_id)[-1]
        assert last == (LATER, sign * entry.amount)
    assert len(booked(entry.subject_id)) == 3
