"""Somebody accepts short money, and at the same moment more comes, the time ends, or somebody else decides."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import connection

from accounts.audit.actors import Actor
from accounts.models import User
from checkouts.inbox import acceptances
from checkouts.inbox.acceptances import accept_as_paid, apply_acceptances, undo_acceptance
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.lifecycle import endings, expiry
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.lifecycle.moves import complete_short
from checkouts.models import Acceptance, Checkout
from checkouts.states import CheckoutStatus
from gateway.core.api.errors import ConflictError
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, events_of, fresh, inbox_of, status_of
from tests.concurrency.races import SECONDS, behind, crew, deadlocks, holding, together, wait_for_waiters
from tests.concurrency.test_attribution import LOCK_CHECKOUT, no_lock
from tests.factories import checkout_counts, make_checkout, make_user

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

LATER = SOON + timedelta(hours=1)
DONE = LATER + UNDO_SPAN


def underpaid() -> tuple[Checkout, Watcher]:
    """A checkout of 25 USD that received 20, and its watcher."""
    checkout, watcher = make_checkout(), Watcher()
    watcher.sees(checkout, 20 * DOLLAR)
    watcher.confirms()
    attribute()
    return fresh(checkout), watcher


def accept(checkout: Checkout, actor: User) -> str:
    """Accept; what came of it."""
    try:
        accept_as_paid(checkout, amount=fresh(checkout).amount_received, now=LATER, actor=Actor(actor))
    except ConflictError as error:
        return error.message
    return "accepted"


def accepted() -> tuple[Checkout, Watcher]:
    """The same checkout, and somebody accepted what came."""
    checkout, watcher = underpaid()
    assert accept(checkout, make_user()) == "accepted"
    return checkout, watcher


def carry_out() -> int:
    return apply_acceptances(now=DONE)


def with_the_rest(checkout: Checkout, watcher: Watcher) -> None:
    """The missing five dollars lie on the queue, final."""
    watcher.sees(checkout, 5 * DOLLAR)
    watcher.confirms()


def test_the_rest_that_is_credited_first_completes_it_and_the_acceptance_ends():
    checkout, watcher = accepted()
    with_the_rest(checkout, watcher)
    assert behind(LOCK_CHECKOUT, checkout.pk, works=[attribute, carry_out]) == [1, 0]
    assert (fresh(checkout).amount_received, fresh(checkout).accepted_amount) == (25, None)
    assert checkout.acceptances.get().failure == "A further payment completed the checkout."
    assert events_of(checkout) == ["underpaid", "completed"]
    assert checkout_counts(checkout.merchant) == {"completed": 1}


def test_the_rest_that_waits_for_an_acceptance_is_extra_and_not_lost():
    checkout, watcher = accepted()
    with_the_rest(checkout, watcher)
    assert behind(LOCK_CHECKOUT, checkout.pk, works=[carry_out, attribute]) == [1, 1]
    assert (fresh(checkout).amount_received, fresh(checkout).accepted_amount) == (20, 20)
    assert (inbox_of(checkout), events_of(checkout)) == (["extra"], ["underpaid", "completed"])
    assert checkout_counts(checkout.merchant) == {"completed": 1}


def test_without_the_checkouts_lock_it_would_complete_twice(monkeypatch):
    """The negative control of both tests above: each sees what the other has not written yet."""
    checkout, watcher = accepted()
    with_the_rest(checkout, watcher)
    no_lock(monkeypatch)
    real = complete_short

    def complete_late(held: Checkout, **named: object) -> None:
        together(attribute)
        real(held, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(acceptances, "complete_short", complete_late)
    carry_out()
    assert checkout_counts(checkout.merchant) == {"completed": 2, "underpaid": -1}


def test_of_many_who_carry_one_out_exactly_one_does():
    checkout, _ = accepted()
    assert sorted(together(*[carry_out] * 4)) == [0, 0, 0, 1]
    assert events_of(checkout) == ["underpaid", "completed"]


def test_who_undoes_what_is_being_carried_out_is_too_late():
    checkout, _ = accepted()
    actor = make_user()

    def undo() -> str:
        try:
            undo_acceptance(Acceptance.objects.get(), now=LATER, actor=Actor(actor))
        except ConflictError as error:
            return error.message
        return "undone"

    done, said = behind(LOCK_CHECKOUT, checkout.pk, works=[carry_out, undo])
    assert (done, status_of(checkout)) == (1, CheckoutStatus.COMPLETED)
    assert "already taken effect" in said


@pytest.fixture
def removed() -> Iterator[Callable[[str], None]]:
    """Take a constraint of acceptances away until the test ends."""
    by_name = {c.name: c for c in Acceptance._meta.constraints}
    gone: list[str] = []

    def remove(name: str) -> None:
        with connection.schema_editor() as editor:
            editor.remove_constraint(Acceptance, by_name[name])
        gone.append(name)

    yield remove
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE checkouts_acceptance")
    for name in gone:
        with connection.schema_editor() as editor:
            editor.add_constraint(Acceptance, by_name[name])


def two_who_accept() -> list[str]:
    checkout, _ = underpaid()
    first, second = make_user(), make_user()
    works = [lambda: accept(checkout, first), lambda: accept(checkout, second)]
    return sorted(behind(LOCK_CHECKOUT, checkout.pk, works=works))


def test_of_two_who_accept_at_once_one_does():
    said = two_who_accept()
    assert said[1] == "accepted"
    assert "already being accepted" in said[0]


def test_without_the_constraint_both_would_have_accepted(removed):
    """The negative control of the test above."""
    removed("checkout_has_one_standing_acceptance")
    assert two_who_accept() == ["accepted", "accepted"]


def make_due() -> None:
    for chain in ("base", "polygon"):
        Watcher(chain).read_through(LATER)


def accept_while_it_expires() -> tuple[Checkout, str, int]:
    """Somebody accepts, a sweep looks meanwhile, and the acceptance takes effect."""
    make_due()
    checkout, _ = underpaid()
    said = accept(checkout, make_user())
    swept = expire_due_checkouts(now=LATER)
    carry_out()
    return checkout, said, swept


def test_a_checkout_does_not_expire_while_its_money_is_being_accepted():
    checkout, said, swept = accept_while_it_expires()
    assert (said, swept) == ("accepted", 0)
    assert events_of(checkout) == ["underpaid", "completed"]


def test_without_the_look_at_acceptances_it_would_expire_first(monkeypatch):
    """The negative control of the test above: nothing is lost, but the shop is told of an end that nobody wanted."""
    looked = "SELECT FROM checkouts_acceptance a"
    assert looked in expiry._DUE
    monkeypatch.setattr(expiry, "_DUE", expiry._DUE.replace(looked, f"{looked} JOIN (SELECT) none ON false"))
    checkout, said, swept = accept_while_it_expires()
    assert (said, swept) == ("accepted", 1)
    assert events_of(checkout) == ["underpaid", "expired"]
    assert events_of(Checkout.objects.get(replaces=checkout)) == ["completed"]


def test_a_sweep_that_waits_for_an_acceptance_sees_it():
    """The sweep has found it due, and looks again under the lock."""
    make_due()
    checkout, _ = underpaid()
    actor = make_user()
    real, looks = expiry._due_ids, []

    def look(now, **which):
        found = real(now, **which)
        looks.append(found)
        if len(looks) == 1:
            together(lambda: accept(checkout, actor))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(expiry, "_due_ids", look)
        assert expiry._expire_some(0, now=LATER) == 0
    assert looks[0] == [checkout.pk]
    assert carry_out() == 1
    assert events_of(checkout) == ["underpaid", "completed"]


def test_an_acceptance_that_waits_for_a_sweep_is_refused_and_made_again_of_what_is_left():
    make_due()
    checkout, _ = underpaid()
    actor = make_user()
    with crew() as threads:
        with holding("SELECT FROM webhooks_eventcounter WHERE merchant_id = %s FOR UPDATE", checkout.merchant_id):
            sweeping = threads.start(lambda: expire_due_checkouts(now=LATER))
            wait_for_waiters(1)
            accepting = threads.start(lambda: accept(checkout, actor))
            wait_for_waiters(2)
        assert sweeping.result(SECONDS) == 1
        assert accepting.result(SECONDS) == "accepted"
    assert carry_out() == 1
    assert events_of(Checkout.objects.get(replaces=checkout)) == ["completed"]


def cancel(checkout: Checkout) -> str:
    try:
        return "cancelled" if cancel_checkout(checkout.pk, now=LATER) else "repeated"
    except ConflictError:
        return "refused"


def cancel_while_it_is_accepted() -> tuple[Checkout, list[str]]:
    checkout, _ = underpaid()
    actor = make_user()
    works = [lambda: cancel(checkout), lambda: accept(checkout, actor)]
    return checkout, behind(LOCK_CHECKOUT, checkout.pk, works=works)


def test_money_that_came_is_accepted_and_not_cancelled():
    checkout, said = cancel_while_it_is_accepted()
    assert said == ["refused", "accepted"]
    assert carry_out() == 1
    assert events_of(checkout) == ["underpaid", "completed"]


def test_without_the_look_under_the_lock_it_would_be_cancelled(monkeypatch):
    """The negative control of the test above: the money is not lost, but the checkout of the buyer is."""
    monkeypatch.setattr(endings, "reason_against_cancelling", lambda checkout: "")
    checkout, said = cancel_while_it_is_accepted()
    assert said == ["cancelled", "accepted"]
    assert carry_out() == 1
    assert events_of(checkout) == ["underpaid", "expired"]


def test_acceptances_sweeps_and_workers_at_once_lose_nothing():
    make_due()
    before, checkouts = deadlocks(), []
    for _ in range(8):
        checkout, watcher = accepted()
        watcher.sees(checkout, 5 * DOLLAR)
        watcher.confirms()
        checkouts.append(checkout)
    together(*[carry_out, attribute, lambda: expire_due_checkouts(now=DONE)] * 3)
    carry_out()
    attribute()
    for checkout in checkouts:
        assert status_of(checkout) == CheckoutStatus.COMPLETED
        assert events_of(checkout) == ["underpaid", "completed"]
        is_accepted = fresh(checkout).accepted_amount is not None
        assert fresh(checkout).amount_received == (20 if is_accepted else 25)
        assert inbox_of(checkout) == (["extra"] if is_accepted else [])
    assert deadlocks() == before
