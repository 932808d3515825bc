"""The days of transfers under writers that work at once: nothing is lost, and nobody waits in a circle."""

import random
from functools import partial

import pytest
from django.db import connection, transaction

from checkouts.attribution.queue import attribute_transfers
from gateway.core.daily_totals import fold_all
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute
from tests.concurrency.races import crew, deadlocks, holding, together, wait_for_waiters
from tests.factories import NOON, make_checkout, make_merchant, make_transfer
from tests.totals import differences, rebuild
from tests.wallets.days import kept_sums, raw_sums
from wallets.models import Transfer, TransferClaim, TransferDay
from wallets.states import ClaimKind
from wallets.transfers.service import confirm_through, orphan_above, record_transfers

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

ROUNDS = 10
_CONFIRM = "UPDATE wallets_transfer SET state = 'confirmed', confirmed_at = now()"


def test_nothing_is_lost_and_nobody_waits_in_a_circle_when_all_write_one_day() -> None:
    merchant = make_merchant()
    checkouts = [make_checkout(merchant) for _ in range(8)]
    before = deadlocks()

    def watch(chain: str) -> None:
        """Pass after pass, each one transaction of several statements, as a watcher's are."""
        watcher, chance = Watcher(chain), random.Random(chain)
        for _ in range(ROUNDS):
            seen = [
                watcher.transfer_to(checkout, chance.randrange(1, 9) * DOLLAR)
                for checkout in chance.sample(checkouts, 5)
            ]
            with transaction.atomic():
                record_transfers(seen, now=SOON)
                confirm_through(chain, watcher.height - chance.randrange(6), now=SOON)
                orphan_above(chain, watcher.height - chance.randrange(4), now=SOON)
                record_transfers(seen[-2:], now=SOON)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(ROUNDS):
            attribute_transfers(now=SOON, batch=chance.choice([1, 3, 500]))

    def sweep() -> None:
        for _ in range(ROUNDS):
            fold_all()
            assert differences() == []

    together(
        *(partial(watch, chain) for chain in ("base", "polygon")),
        *(partial(work, seed) for seed in range(2)),
        sweep,
        sweep,
        rebuild,
        rebuild,
    )
    attribute()
    assert deadlocks() == before
    assert TransferClaim.objects.exists()
    assert kept_sums() == raw_sums()
    fold_all()
    assert kept_sums() == raw_sums()


def claim_meanwhile(transfer: Transfer, *, waits: bool) -> None:
    """Claim a transfer while the transaction that makes it final is not committed yet."""

    def claim() -> None:
        TransferClaim.objects.create(transfer_id=transfer.pk, kind=ClaimKind.CHECKOUT, claimed_at=NOON)

    with crew() as threads:
        with holding(_CONFIRM):
            claiming = threads.start(claim)
            if waits:
                wait_for_waiters(1)
            else:
                claiming.result()
        claiming.result()


def test_a_claim_waits_for_whoever_changes_the_transfer() -> None:
    claim_meanwhile(make_transfer(make_checkout()), waits=True)
    fold_all()
    assert [(day.state, day.claim) for day in TransferDay.objects.exclude(count=0)] == [("confirmed", "checkout")]
    assert differences() == []


def test_without_the_lock_it_moves_what_is_no_longer_there() -> None:
    """The negative control: the same function, which looks at the transfer and does not hold it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef('transfer_days_claimed'::regproc)")
        [locking] = cursor.fetchone()
        loose = locking.replace("FOR NO KEY UPDATE OF t", "")
        assert loose != locking
        cursor.execute(loose)
        try:
            claim_meanwhile(make_transfer(make_checkout()), waits=False)
        finally:
            cursor.execute(locking)
    assert len(differences()) == 4
