"""Two workers find one outflow at once, or many; and a watcher changes it meanwhile."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from django.db import connection

from accounts.models import Membership
from accounts.states import Role
from payouts.following import attaching
from payouts.following.attaching import attach
from payouts.following.service import follow_movements
from payouts.models import Payout, PayoutSurplus
from payouts.states import PayoutStatus
from tests.checkouts.watcher import DOLLAR
from tests.concurrency.races import behind, deadlocks, together
from tests.concurrency.test_inbox import no_lock_on
from tests.factories import NOON, make_merchant
from tests.payouts.factories import approved, make_approver, make_payout, outflow_for
from tests.payouts.test_following import LATER
from wallets.models import WatchedMovement, WatchedWallet

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

LOCK_MOVEMENT = "SELECT FROM wallets_watchedmovement WHERE id = %s FOR UPDATE"


@pytest.fixture
def removed() -> Iterator[Callable[[], None]]:
    """Take away what holds an outflow to one payout, until the test ends."""
    [once] = [one for one in Payout._meta.constraints if one.name == "payout_of_one_movement"]
    gone = []

    def remove() -> None:
        with connection.schema_editor() as editor:
            editor.remove_constraint(Payout, once)
        gone.append(once)

    yield remove
    if gone:
        Payout.objects.update(movement=None, status=PayoutStatus.APPROVED, paid_at=None)
        with connection.schema_editor() as editor:
            editor.add_constraint(Payout, once)


def queued_outflows(payout: Payout, count: int) -> list[WatchedMovement]:
    """Final outflows that fit a payout and its twins, on the queue."""
    found = [outflow_for(payout, block_time=LATER) for _ in range(count)]
    WatchedMovement.objects.update(queued_at=NOON)
    WatchedWallet.objects.update(expected_until=NOON)
    return found


def twins(count: int) -> list[Payout]:
    """Payouts of one amount to one address, approved."""
    merchant = make_merchant()
    person = make_approver(merchant)
    return [approved(make_payout(merchant, 5 * DOLLAR), person) for _ in range(count)]


def attached_at_once(payouts: list[Payout], outflow: WatchedMovement) -> int:
    """How many of the payouts got it, of those who attach it all at once."""
    works = [partial(attach, one.pk, outflow.pk) for one in payouts]
    return sum(together(*works))


def test_one_outflow_is_attached_to_one_payout_by_whoever_comes_first() -> None:
    payouts = twins(4)
    [outflow] = queued_outflows(payouts[0], 1)
    assert attached_at_once(payouts, outflow) == 1
    assert Payout.objects.filter(movement=outflow).count() == 1


def test_without_the_constraint_one_outflow_would_pay_several(removed: Callable[[], None]) -> None:
    """The negative control of the test above."""
    removed()
    payouts = twins(4)
    [outflow] = queued_outflows(payouts[0], 1)
    assert attached_at_once(payouts, outflow) == 4


def of_one_owner() -> list[tuple[Payout, WatchedMovement]]:
    """What two merchants of one owner owe one recipient, each with its row of the one outflow that fits both."""
    merchants = [make_merchant(), make_merchant()]
    owner = make_approver(merchants[0])
    Membership.objects.create(merchant=merchants[1], user=owner, role=Role.OWNER)
    payouts = [approved(make_payout(one, 5 * DOLLAR), owner) for one in merchants]
    return [(one, outflow_for(one, tx_hash="0x" + "41" * 32)) for one in payouts]


def attached_behind_payouts(pairs: list[tuple[Payout, WatchedMovement]]) -> int:
    """How many got it, of those who all looked before any row could be written."""
    works = [partial(attach, payout.pk, outflow.pk) for payout, outflow in pairs]
    return sum(behind("LOCK TABLE payouts_payout IN SHARE MODE", works=works))


def test_one_outflow_is_attached_to_one_payout_of_an_owners_merchants() -> None:
    assert attached_behind_payouts(of_one_owner()) == 1


def test_without_the_lock_it_would_be_attached_to_a_payout_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    monkeypatch.setattr(attaching, "_TAKE_TURN", "SELECT %s")
    assert attached_behind_payouts(of_one_owner()) == 2


@pytest.mark.parametrize(("due", "sent"), [(1, 1), (3, 5), (5, 3)])
def test_eight_workers_call_as_many_paid_as_were_sent_and_due(due: int, sent: int) -> None:
    payouts = twins(due)
    queued_outflows(payouts[0], sent)
    before = deadlocks()
    together(*[partial(follow_movements, now=LATER)] * 8)
    paid = Payout.objects.filter(status=PayoutStatus.PAID).count()
    assert (paid, PayoutSurplus.objects.count()) == (min(due, sent), max(sent - due, 0))
    assert not WatchedMovement.objects.exclude(queued_at=None).exists()
    assert deadlocks() == before


def orphan(outflow: WatchedMovement) -> None:
    """As a watcher does."""
    WatchedMovement.objects.filter(pk=outflow.pk).update(state="orphaned", queued_at=LATER)


def test_a_reorg_during_a_look_comes_back_on_the_queue() -> None:
    payouts = twins(1)
    [outflow] = queued_outflows(payouts[0], 1)
    works: list[Callable[[], object]] = [partial(orphan, outflow), partial(follow_movements, now=LATER)]
    behind(LOCK_MOVEMENT, outflow.pk, works=works)
    follow_movements(now=LATER)
    assert Payout.objects.get().status == PayoutStatus.APPROVED


def test_without_the_movements_lock_a_reorg_would_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    no_lock_on(monkeypatch, WatchedMovement)
    payouts = twins(1)
    [outflow] = queued_outflows(payouts[0], 1)
    works: list[Callable[[], object]] = [partial(orphan, outflow), partial(follow_movements, now=LATER)]
    behind(LOCK_MOVEMENT, outflow.pk, works=works)
    follow_movements(now=LATER)
    payout = Payout.objects.get()
    assert (payout.status, payout.exception) == (PayoutStatus.PAID, "")
