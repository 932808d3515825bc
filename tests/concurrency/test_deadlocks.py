"""Everybody locks in one order, so nobody ever waits in a circle."""

import random
import threading
from functools import partial

import pytest
from django.db import OperationalError, connection, transaction

from checkouts.attribution.queue import attribute_transfers
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, events_of, fresh, received
from tests.concurrency.races import SECONDS, deadlocks, together
from tests.factories import checkout_counts, make_checkout, make_merchant
from wallets.models import Transfer
from wallets.transfers.service import confirm_through, orphan_above, record_transfers
from webhooks.models import Event

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

ROUNDS = 12


def test_workers_watchers_and_sweeps_in_any_order_never_lock_each_other_out():
    merchants = [make_merchant() for _ in range(2)]
    checkouts = [make_checkout(merchants[number % 2]) for number in range(8)]
    for chain in ("base", "polygon"):
        Watcher(chain).read_through(SOON)
    before = deadlocks()

    def watch(chain: str) -> None:
        watcher = Watcher(chain)
        random_ = random.Random(chain)
        for _ in range(ROUNDS):
            some = random_.sample(checkouts, 5)
            seen = [watcher.transfer_to(checkout, 5 * DOLLAR) for checkout in some]
            record_transfers(seen, now=SOON)
            confirm_through(chain, watcher.height - random_.randrange(8), now=SOON)
            orphan_above(chain, watcher.height - random_.randrange(4), now=SOON)
            record_transfers(seen[-4:], now=SOON)
        confirm_through(chain, watcher.height, now=SOON)

    def work(number: int) -> None:
        random_ = random.Random(number)
        for _ in range(ROUNDS):
            attribute_transfers(now=SOON, batch=random_.choice([1, 2, 3, 7, 500]))

    def sweep() -> None:
        for _ in range(ROUNDS):
            expire_due_checkouts(now=SOON)

    workers = [partial(work, number) for number in range(3)]
    together(*workers, partial(watch, "base"), partial(watch, "polygon"), sweep)
    attribute()
    assert deadlocks() == before
    assert not Transfer.objects.queued().exists()
    for checkout in checkouts:
        standing = checkout.payments.exclude(transfer__state="orphaned")
        units = standing.values_list("transfer__units", flat=True)
        assert received(checkout) == sum(int(unit) for unit in units)
        assert events_of(checkout).count("completed") == int(fresh(checkout).status == "completed")
    for merchant in merchants:
        numbers = Event.objects.filter(merchant=merchant).values_list("sequence", flat=True)
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
        assert sum(checkout_counts(merchant).values()) == 4


@pytest.mark.parametrize(("order", "expected"), [("pk", 0), ("-pk", 1)])
def test_the_order_of_locks_is_what_prevents_it(order, expected):
    """The negative control: two that lock the same rows from both ends lock each other out, and it is noticed."""
    pks = sorted(make_checkout().pk for _ in range(2))
    before = deadlocks()
    meeting = threading.Barrier(2)

    def lock(first: int, second: int) -> bool:
        try:
            with transaction.atomic():
                Checkout.objects.locked().get(pk=first)
                if expected:
                    meeting.wait(SECONDS)
                Checkout.objects.locked().get(pk=second)
        except OperationalError:
            return False
        return True

    there = pks if order == "pk" else pks[::-1]
    done = together(lambda: lock(*pks), lambda: lock(*there))
    assert done.count(False) == expected
    assert deadlocks() - before == expected


def test_checkouts_are_locked_by_id_and_before_they_are_written():
    with transaction.atomic():
        statement = str(Checkout.objects.locked().filter(amount=25).query)
    assert statement.endswith('ORDER BY "checkouts_checkout"."id" ASC FOR UPDATE OF "checkouts_checkout"')
    assert connection.vendor == "postgresql"
