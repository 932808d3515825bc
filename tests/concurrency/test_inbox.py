"""People and workers who meet over the same money in the inbox."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, models, transaction

from accounts.audit.actors import Actor
from accounts.models import User
from checkouts.inbox import service
from checkouts.inbox.service import apply_decisions, decide_item, undo_decision
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.lifecycle.moves import expire, recompute
from checkouts.models import Checkout, InboxDecision, InboxItem, Payment
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, InboxStatus
from gateway.core.api.errors import ConflictError
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, credited, events_of, pay, received, status_of
from tests.concurrency.races import (
    SECONDS,
    behind,
    claims_locking_nothing,
    crew,
    deadlocks,
    holding,
    together,
    wait_for_waiters,
)
from tests.concurrency.test_attribution import LOCK_CHECKOUT
from tests.factories import checkout_counts, make_checkout, make_user
from wallets.models import Transfer, TransferClaim
from wallets.transfers.service import confirm_through

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

LATER = SOON + timedelta(hours=1)
DONE = LATER + UNDO_SPAN
JUST_BEFORE = DONE - timedelta(milliseconds=1)
LOCK_ITEM = "SELECT FROM checkouts_inboxitem WHERE id = %s FOR UPDATE"


def extra_item(*, confirmed: bool = True) -> InboxItem:
    """An item about money that came for a checkout that was paid already."""
    paid = make_checkout()
    pay(paid)
    watcher = Watcher(height=500)
    transfer = watcher.sees(paid)
    if confirmed:
        watcher.confirms(transfer)
    attribute()
    return InboxItem.objects.get(reason=InboxReason.EXTRA)


def decide(item: InboxItem, act: InboxAct, actor: User, **more: Any) -> InboxDecision:
    return decide_item(item, act=act, now=LATER, actor=Actor(actor), **more)


def to_credit(item: InboxItem) -> tuple[Checkout, InboxDecision]:
    wanted = make_checkout(item.merchant)
    return wanted, decide(item, InboxAct.CREDIT, make_user(), checkout=wanted)


def carry_out() -> int:
    return apply_decisions(now=DONE)


def undo(decision: InboxDecision, actor: User) -> str:
    """Undo; what came of it."""
    try:
        undo_decision(decision, now=JUST_BEFORE, actor=Actor(actor))
    except ConflictError as error:
        return error.message
    return "undone"


def test_who_undoes_what_is_being_carried_out_is_too_late():
    item = extra_item()
    wanted, decision = to_credit(item)
    actor = make_user()
    applying, undoing = behind(LOCK_CHECKOUT, wanted.pk, works=[carry_out, lambda: undo(decision, actor)])
    assert applying == 1
    assert "already taken effect" in undoing
    decision.refresh_from_db()
    assert (decision.undone_at, decision.done_at) == (None, DONE)
    assert events_of(wanted) == ["completed"]


def test_what_is_being_undone_is_not_carried_out():
    wanted, decision = to_credit(extra_item())
    with holding("UPDATE checkouts_inboxdecision SET undone_at = now() WHERE id = %s", decision.pk):
        assert carry_out() == 0
    assert carry_out() == 0
    assert credited(wanted) == 0


def test_of_many_who_undo_and_carry_out_at_once_exactly_one_wins():
    item = extra_item()
    people = [make_user() for _ in range(3)]
    for _ in range(4):
        decision = decide(item, InboxAct.DISMISS, people[0])
        undoing = [partial(undo, decision, who) for who in people]
        came = together(carry_out, carry_out, *undoing)
        assert came.count(1) + came.count("undone") == 1
        item.refresh_from_db()
        assert (item.status == InboxStatus.DISMISSED) is (1 in came)
        if 1 in came:
            break


def no_lock_on(monkeypatch: pytest.MonkeyPatch, *unlocked: type[models.Model]) -> None:
    """Let everybody read some tables without locking their rows."""
    real = models.QuerySet.select_for_update

    def select(self: Any, *arguments: Any, **named: Any) -> Any:
        if self.model in unlocked:
            return self.all()
        return real(self, *arguments, **named)

    monkeypatch.setattr(models.QuerySet, "select_for_update", select)


@pytest.fixture
def removed() -> Iterator[Callable[[str], None]]:
    """Take constraints of the decisions away until the test ends."""
    by_name = {c.name: c for c in InboxDecision._meta.constraints}
    gone: list[str] = []

    def remove(name: str) -> None:
        with connection.schema_editor() as editor:
            editor.remove_constraint(InboxDecision, by_name[name])
        gone.append(name)

    yield remove
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE checkouts_inboxdecision")
    for name in gone:
        with connection.schema_editor() as editor:
            editor.add_constraint(InboxDecision, by_name[name])


def undo_while_it_is_carried_out() -> tuple[int, str, Checkout]:
    wanted, decision = to_credit(extra_item())
    actor = make_user()
    with crew() as threads:
        with holding(LOCK_ITEM, decision.item_id):
            applying = threads.start(carry_out)
            wait_for_waiters(1)
            undone = threads.start(lambda: undo(decision, actor)).result(SECONDS)
        return applying.result(SECONDS), undone, wanted


def test_without_the_decisions_lock_the_table_still_refuses_both(monkeypatch):
    no_lock_on(monkeypatch, InboxDecision)
    done, undone, wanted = undo_while_it_is_carried_out()
    assert (done, undone, credited(wanted)) == (0, "undone", 0)


def test_without_lock_and_constraint_money_moves_that_was_undone(monkeypatch, removed):
    """The negative control of the tests above."""
    no_lock_on(monkeypatch, InboxDecision)
    removed("inbox_decision_ends_once")
    done, undone, wanted = undo_while_it_is_carried_out()
    assert (done, undone, credited(wanted)) == (1, "undone", 1)


def two_deciders(item: InboxItem) -> list[str]:
    """Two people decide on two connections, at the moment when a third lets go of the item."""
    people = [make_user() for _ in range(2)]

    def attempt(actor: User) -> str:
        try:
            decide(item, InboxAct.DISMISS, actor)
        except ConflictError as error:
            return error.message
        return "decided"

    return sorted(behind(LOCK_ITEM, item.pk, works=[partial(attempt, who) for who in people]))


def test_of_two_who_decide_at_once_the_second_is_told_who_was_first():
    item = extra_item()
    told, first = sorted(two_deciders(item), key=lambda said: said == "decided")
    decision = item.decisions.get()
    assert first == "decided"
    assert str(decision.actor) in told


def test_without_the_constraint_both_would_have_decided(removed):
    """The negative control of the test above."""
    item = extra_item()
    removed("inbox_item_has_one_standing_decision")
    assert two_deciders(item) == ["decided", "decided"]


def test_a_confirmation_during_a_credit_is_not_lost():
    """Attribution passes over a transfer that is being credited, and looks at it once it is."""
    item = extra_item(confirmed=False)
    wanted, _ = to_credit(item)
    confirm_through("base", item.transfer.block_height, now=SOON)
    with crew() as threads:
        with holding(LOCK_CHECKOUT, wanted.pk):
            applying = threads.start(carry_out)
            wait_for_waiters(1)
            assert attribute() == 0
        assert applying.result(SECONDS) == 1
    attribute()
    assert status_of(wanted) == CheckoutStatus.COMPLETED
    assert not Transfer.objects.queued().exists()


def test_without_the_transfers_lock_a_confirmation_would_be_lost(monkeypatch):
    """The negative control: the queue lets the transfer go while nobody knows yet what it pays."""
    item = extra_item(confirmed=False)
    wanted, _ = to_credit(item)
    no_lock_on(monkeypatch, Transfer)
    real = recompute

    def recompute_and_confirm(*arguments: Any, **named: Any) -> None:
        real(*arguments, **named)
        with crew() as threads:
            threads.together(lambda: confirm_through("base", item.transfer.block_height, now=SOON))
            threads.together(attribute)

    monkeypatch.setattr(service, "recompute", recompute_and_confirm)
    with claims_locking_nothing():
        assert carry_out() == 1
    attribute()
    assert status_of(wanted) == CheckoutStatus.PROCESSING


def credit_beside_attribution(wanted: Checkout, transfer: Transfer) -> tuple[int, list[str]]:
    """A credit and a payment of its own reach a checkout at once; how many credits, and why others are in the inbox."""
    done, _ = behind(LOCK_CHECKOUT, wanted.pk, works=[carry_out, attribute])
    reasons = transfer.inbox_items.values_list("reason", flat=True)
    return done, list(reasons)


def test_a_checkout_that_is_paid_while_it_is_credited_completes_once():
    wanted, _ = to_credit(extra_item())
    watcher = Watcher(height=900)
    own = watcher.sees(wanted)
    watcher.confirms(own)
    done, reasons = credit_beside_attribution(wanted, own)
    assert credited(wanted) == 1
    assert (reasons == [InboxReason.EXTRA]) is bool(done)
    assert received(wanted) == 25 * DOLLAR
    assert events_of(wanted) == ["completed"]


def twins() -> tuple[list[Checkout], Transfer]:
    """One transfer in two items, each to be credited to another checkout."""
    item = extra_item()
    twin = InboxItem.objects.create(
        merchant=item.merchant,
        mode=item.mode,
        transfer=item.transfer,
        reason=InboxReason.UNMATCHED,
        explanation="",
        created_at=SOON,
    )
    return [to_credit(each)[0] for each in (item, twin)], item.transfer


def credit_both(wanted: list[Checkout]) -> list[int]:
    """Carry two decisions out on two connections, the first held up until the second is there."""
    both = InboxDecision.objects.order_by("pk").values_list("pk", flat=True)
    return behind(LOCK_CHECKOUT, wanted[0].pk, works=[partial(service._apply_safely, pk, DONE) for pk in both])


def test_one_transfer_is_credited_once_by_two_who_credit_it_at_once():
    wanted, transfer = twins()
    assert credit_both(wanted) == [True, False]
    assert [credited(checkout) for checkout in wanted] == [1, 0]
    refused = InboxDecision.objects.order_by("-pk")[0]
    assert refused.failure == "This transfer has already been credited."
    assert TransferClaim.objects.filter(transfer=transfer).count() == 1


def test_without_the_transfers_lock_the_claims_key_still_refuses_the_second(monkeypatch):
    """Two see it free; the key lets one have it, and the other is set aside to be told later."""
    wanted, _ = twins()
    no_lock_on(monkeypatch, Transfer)
    with crew() as threads:
        with holding(LOCK_CHECKOUT, wanted[0].pk):
            one = threads.start(carry_out)
            wait_for_waiters(1)
            second = InboxDecision.objects.order_by("-pk")[0]
            assert service._apply_safely(second.pk, DONE)
        assert one.result(SECONDS) == 0
    assert [credited(checkout) for checkout in wanted] == [0, 1]
    assert Payment.objects.count() == TransferClaim.objects.count() == 2


def two_late() -> tuple[InboxItem, InboxItem]:
    """Two halves of a price that came after its checkout expired."""
    checkout = make_checkout()
    with transaction.atomic():
        expire(list(Checkout.objects.locked()), now=LATER)
    watcher = Watcher(height=500)
    for _ in range(2):
        transfer = watcher.sees(checkout, 25 * DOLLAR // 2, at=LATER)
        watcher.confirms(transfer, now=LATER)
    attribute(now=LATER)
    first, second = InboxItem.objects.order_by("pk")
    return first, second


def dismiss_while_it_is_accepted(*, waits: bool) -> tuple[int, str, InboxItem]:
    first, second = two_late()
    decide(first, InboxAct.ACCEPT_LATE, make_user())
    actor, broken = make_user(), deadlocks()

    def dismiss() -> str:
        try:
            decide(second, InboxAct.DISMISS, actor)
        except ConflictError:
            return "refused"
        return "decided"

    assert first.checkout is not None
    with crew() as threads:
        with holding(LOCK_CHECKOUT, first.checkout.pk):
            accepting = threads.start(carry_out)
            wait_for_waiters(1)
            dismissing = threads.start(dismiss)
            if waits:
                wait_for_waiters(2)
            else:
                dismissing.result(SECONDS)
        done, said = accepting.result(SECONDS), dismissing.result(SECONDS)
    assert deadlocks() == broken
    second.refresh_from_db()
    return done, said, second


def test_money_that_is_being_accepted_with_other_money_is_not_decided_about():
    done, said, second = dismiss_while_it_is_accepted(waits=True)
    assert (done, said, second.status) == (1, "refused", InboxStatus.CREDITED)
    assert checkout_counts(second.merchant) == {"completed": 1, "expired": 1}


def test_without_the_items_lock_it_would_be_credited_and_dismissed(monkeypatch):
    """The negative control of the test above."""
    no_lock_on(monkeypatch, InboxItem)
    done, said, second = dismiss_while_it_is_accepted(waits=False)
    assert (done, said, second.status) == (1, "decided", InboxStatus.CREDITED)
    assert second.decisions.get().done_at is None
