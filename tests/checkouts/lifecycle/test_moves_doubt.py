"""Money that a halted chain may have lost completes no checkout, until a person decided how the chain goes on."""

import pytest

from checkouts.inbox.acceptances import short_money
from checkouts.rows import credited_transfers
from checkouts.states import CheckoutStatus
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, events_of, fresh, in_status, shown, status_of
from tests.factories import make_checkout, make_live_chain
from wallets.models import ChainCursor, Transfer
from wallets.watchers.ingest import resume

pytestmark = pytest.mark.django_db

PROCESSING, UNDERPAID, COMPLETED = (CheckoutStatus.PROCESSING, CheckoutStatus.UNDERPAID, CheckoutStatus.COMPLETED)


def halt(above: int | None) -> None:
    """Stop Base; without a height nobody knows where it forked, so what came within the hour is in doubt."""
    make_live_chain("base", halted_reason="a fork", halted_at=SOON, doubted_above=above)


@pytest.mark.parametrize("is_fork_known", [True, False])
def test_the_rest_on_another_chain_completes_nothing_while_the_first_part_is_in_doubt(is_fork_known: bool) -> None:
    checkout, _ = in_status(UNDERPAID)
    part = Transfer.objects.get()
    halt(part.block_height - 1 if is_fork_known else None)
    polygon = Watcher("polygon")
    polygon.sees(checkout, 15 * DOLLAR)
    polygon.confirms()
    attribute()
    assert (status_of(checkout), events_of(checkout)) == (PROCESSING, ["underpaid"])
    assert [one["in_doubt"] for one in shown(checkout)["transfers"]] == [True, False]
    resume("base", height=part.block_height, now=SOON)
    assert ChainCursor.objects.get(chain="base").halted_reason == ""
    attribute()
    assert (status_of(checkout), events_of(checkout)) == (COMPLETED, ["underpaid", "completed"])


def test_money_that_the_chain_lost_never_completed_anything() -> None:
    checkout, _ = in_status(UNDERPAID)
    part = Transfer.objects.get()
    halt(part.block_height - 1)
    polygon = Watcher("polygon")
    polygon.sees(checkout, 15 * DOLLAR)
    polygon.confirms()
    attribute()
    resume("base", height=part.block_height - 1, now=SOON)
    attribute()
    assert (status_of(checkout), events_of(checkout)) == (UNDERPAID, ["underpaid", "underpaid"])


def test_final_money_that_is_decided_only_after_its_chain_was_stopped_completes_nothing_yet() -> None:
    checkout, base = make_checkout(), Watcher()
    paid = base.sees(checkout)
    base.confirms()
    halt(paid.block_height - 1)
    attribute()
    assert (status_of(checkout), events_of(checkout)) == (PROCESSING, [])
    resume("base", height=paid.block_height, now=SOON)
    attribute()
    assert (status_of(checkout), events_of(checkout)) == (COMPLETED, ["completed"])


def test_what_is_below_the_fork_completes_as_ever() -> None:
    checkout, base = make_checkout(), Watcher()
    paid = base.sees(checkout)
    base.confirms()
    halt(paid.block_height)
    attribute()
    assert status_of(checkout) == COMPLETED


def test_a_completed_checkout_stays_as_it_is_and_is_told_of_nothing() -> None:
    checkout, base = make_checkout(), Watcher()
    paid = base.sees(checkout)
    base.confirms()
    attribute()
    halt(paid.block_height - 1)
    for _ in range(2):
        Transfer.objects.update(queued_at=SOON)
        attribute()
        assert (fresh(checkout).exception, events_of(checkout)) == ("", ["completed"])
        resume("base", height=paid.block_height, now=SOON)


def test_short_money_in_doubt_is_not_accepted_as_the_price() -> None:
    checkout, _ = in_status(UNDERPAID)
    part = Transfer.objects.get()
    halt(part.block_height - 1)
    assert short_money(fresh(checkout), credited_transfers([checkout.pk])[checkout.pk]) is None
    Transfer.objects.update(queued_at=SOON)
    attribute()
    assert (status_of(checkout), events_of(checkout)) == (UNDERPAID, ["underpaid"])
    resume("base", height=part.block_height, now=SOON)
    assert short_money(fresh(checkout), credited_transfers([checkout.pk])[checkout.pk]) is not None
