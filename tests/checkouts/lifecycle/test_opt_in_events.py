"""What endpoints hear of checkouts and the inbox that chose to: each fact once, when it becomes true, and nobody else."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.inbox.serializers import item_id
from checkouts.inbox.service import apply_decisions
from checkouts.models import Checkout, InboxItem
from checkouts.states import CheckoutStatus, InboxAct, InboxReason
from tests.checkouts.inboxes import DONE, decide, extra_item, late_for, late_item, other_checkout
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, pay, shown, status_of
from tests.contract.client import client_of
from tests.factories import NOON, body_of, make_checkout, make_merchant
from tests.webhooks.factories import HOOK, make_endpoint
from tests.webhooks.listed.test_publishing import listed
from webhooks.listed.service import chosen_events
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db
CHOSEN = "https://chosen.example/"
PROCESSING, CONFIRMED, OPENED, CLOSED = settings.WEBHOOK_OPT_IN_TYPES[:4]


def choosing(*types: str) -> Merchant:
    """A merchant with an endpoint that chose opt-in types, all if none is named."""
    merchant = make_merchant()
    listed(merchant, CHOSEN, *(types or settings.WEBHOOK_OPT_IN_TYPES))
    return merchant


def told() -> list[str]:
    """The types of all events, in the order of their numbers; of those that are opt-in one delivery each, to the endpoint."""
    events = Event.objects.order_by("merchant", "sequence")
    chosen = events.filter(type__in=settings.WEBHOOK_OPT_IN_TYPES)
    urls = Delivery.objects.filter(event__in=chosen).values_list("endpoint__url", flat=True)
    assert list(urls) == [CHOSEN] * chosen.count()
    return list(events.values_list("type", flat=True))


def subjects(kind: str) -> list[dict[str, Any]]:
    """What events of a type are about, in order; the envelope has its id."""
    bodies = [
        body_of(bytes(body))
        for body in Event.objects.filter(type=kind).order_by("sequence").values_list("body", flat=True)
    ]
    assert all(body["checkout_id"] == body["data"]["id"] for body in bodies)
    return [body["data"] for body in bodies]


def test_money_that_covers_the_price_is_told_as_it_is_seen_and_again_as_it_is_final() -> None:
    checkout, watcher = make_checkout(choosing()), Watcher()
    transfer = watcher.sees(checkout)
    attribute()
    assert told() == [PROCESSING]
    assert subjects(PROCESSING) == [shown(checkout)]
    watcher.confirms()
    attribute()
    assert told() == [PROCESSING, CONFIRMED, "checkout.completed"]
    changed = {"chain": "base", "tx_hash": transfer.tx_hash, "position": 0}
    assert subjects(CONFIRMED) == [shown(checkout) | {"changed_transfer": changed}]
    assert subjects("checkout.completed") == [shown(checkout)]


def test_money_that_is_final_when_it_is_seen_is_told_as_seen_before_it_completes_the_checkout() -> None:
    """A program that makes its order when the price is covered must not miss one."""
    checkout, watcher = make_checkout(choosing()), Watcher()
    watcher.sees(checkout)
    watcher.confirms()
    attribute()
    assert told() == [PROCESSING, CONFIRMED, "checkout.completed"]
    assert subjects(PROCESSING) == subjects("checkout.completed") == [shown(checkout)]
    assert shown(checkout)["status"] == CheckoutStatus.COMPLETED


def test_it_is_told_again_if_a_reorg_took_the_money_and_it_came_back() -> None:
    checkout, watcher = make_checkout(choosing(PROCESSING)), Watcher()
    transfer = watcher.sees(checkout)
    attribute()
    watcher.loses(transfer)
    attribute()
    assert status_of(checkout) == CheckoutStatus.PENDING
    watcher.finds_again(transfer)
    attribute(now=NOON)
    assert told() == [PROCESSING, PROCESSING]


def test_each_part_is_told_once_also_one_that_is_not_enough_or_too_much() -> None:
    checkout, watcher = make_checkout(choosing(CONFIRMED)), Watcher()
    first = watcher.sees(checkout, 10 * DOLLAR)
    watcher.confirms()
    attribute()
    assert told() == [CONFIRMED, "checkout.underpaid"]
    second, third = watcher.sees(checkout, 15 * DOLLAR), watcher.sees(checkout, DOLLAR)
    watcher.confirms(second)
    attribute()
    assert status_of(checkout) == CheckoutStatus.COMPLETED
    watcher.confirms(third)
    attribute()
    hashes = [subject["changed_transfer"]["tx_hash"] for subject in subjects(CONFIRMED)]
    assert hashes == [first.tx_hash, second.tx_hash, third.tx_hash]


def test_a_transfer_that_was_reversed_and_returned_is_not_told_again() -> None:
    checkout, watcher = make_checkout(choosing(CONFIRMED, OPENED, CLOSED)), Watcher()
    transfer = watcher.sees(checkout)
    watcher.confirms()
    attribute()
    watcher.loses(transfer)
    attribute()
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    assert told() == [CONFIRMED, "checkout.completed", "checkout.reversed", OPENED, "checkout.restored", CLOSED]
    assert [subject["outcome"] for subject in subjects(CLOSED)] == ["restored"]


@pytest.mark.parametrize("own", ["", "https://own.example/"])
def test_each_endpoint_that_heard_of_the_completion_hears_of_the_reversal_and_of_the_return(own: str) -> None:
    merchant = make_merchant()
    make_endpoint(merchant, HOOK)
    listed(merchant, "https://all.example/")
    listed(merchant, "https://paid.example/", *chosen_events(["checkout.completed"]))
    listed(merchant, "https://late.example/", "checkout.expired")
    checkout, watcher = make_checkout(merchant, webhook_url=own), Watcher()
    transfer = watcher.sees(checkout)
    watcher.confirms()
    attribute()
    watcher.loses(transfer)
    attribute()
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    heard = {
        kind: set(Delivery.objects.filter(event__type=f"checkout.{kind}").values_list("endpoint__url", flat=True))
        for kind in ("completed", "reversed", "restored")
    }
    wanted = {own or HOOK, "https://all.example/", "https://paid.example/"}
    assert heard == dict.fromkeys(heard, wanted)


def test_an_endpoint_that_chose_later_does_not_hear_of_what_was_final_before() -> None:
    merchant = make_merchant()
    checkout, watcher = make_checkout(merchant), Watcher()
    watcher.sees(checkout, 10 * DOLLAR)
    watcher.confirms()
    attribute()
    listed(merchant, CHOSEN, CONFIRMED)
    second = watcher.sees(checkout, 15 * DOLLAR)
    watcher.confirms()
    attribute()
    assert [subject["changed_transfer"]["tx_hash"] for subject in subjects(CONFIRMED)] == [second.tx_hash]


def seen_by_get(item: InboxItem) -> dict[str, Any]:
    """What GET answers for the item now."""
    body: dict[str, Any] = (
        client_of(item.merchant, Mode.LIVE).get(f"/inbox/{item_id(item.transfer.public_id, item.reason)}").body
    )
    return body


def test_an_item_is_told_as_get_shows_it_when_it_is_opened_and_when_it_is_closed() -> None:
    item = extra_item(merchant=choosing(OPENED, CLOSED))
    assert told() == ["checkout.completed", OPENED]
    assert subjects(OPENED) == [seen_by_get(item)]
    decide(item, InboxAct.DISMISS)
    assert told() == ["checkout.completed", OPENED]
    apply_decisions(now=DONE)
    assert told() == ["checkout.completed", OPENED, CLOSED]
    assert subjects(CLOSED) == [seen_by_get(item)]
    assert subjects(CLOSED)[0]["decision"]["took_effect_at"] is not None


def test_money_that_a_person_credits_is_told_as_credited_and_as_closed() -> None:
    merchant = choosing()
    item = extra_item(merchant=merchant)
    wanted = other_checkout(item)
    before = len(told())
    decide(item, InboxAct.CREDIT, checkout=wanted)
    apply_decisions(now=DONE)
    assert told()[before:] == [PROCESSING, CONFIRMED, "checkout.completed", CLOSED]
    assert subjects(CONFIRMED)[-1] == shown(wanted) | {"changed_transfer": subjects(CONFIRMED)[-1]["changed_transfer"]}
    assert subjects(CLOSED) == [seen_by_get(item)]


def test_late_money_that_is_accepted_closes_all_items_and_tells_each_transfer_once() -> None:
    merchant = choosing()
    item = late_item(before=10 * DOLLAR, late=10 * DOLLAR, merchant=merchant)
    assert item.checkout is not None
    late_for(item.checkout, 5 * DOLLAR)
    before = len(told())
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    assert told()[before:] == [PROCESSING, CONFIRMED, CONFIRMED, "checkout.completed", CLOSED, CLOSED]
    assert [subject["outcome"] for subject in subjects(CLOSED)] == ["accepted_late"] * 2
    assert subjects(CLOSED) == [seen_by_get(one) for one in InboxItem.objects.order_by("pk")]
    assert len({subject["changed_transfer"]["tx_hash"] for subject in subjects(CONFIRMED)}) == 3
    successor = Checkout.objects.get(replaces=item.checkout)
    assert [subject["id"] for subject in subjects(CONFIRMED)[1:]] == [successor.public_id] * 2


def test_dust_needs_nobody_and_is_not_told() -> None:
    checkout = make_checkout(choosing(OPENED))
    pay(checkout, 9_999)
    assert InboxItem.objects.get().reason == InboxReason.DUST
    assert told() == []


def test_an_item_is_told_to_its_own_merchant_alone() -> None:
    ours, theirs = choosing(OPENED), make_merchant()
    checkouts = [make_checkout(merchant) for merchant in (ours, theirs)]
    for checkout in checkouts:
        pay(checkout)
    watcher = Watcher(height=9_000)
    for checkout in checkouts:
        watcher.sees(checkout)
    watcher.confirms()
    attribute()
    assert InboxItem.objects.count() == 2
    assert [event.merchant for event in Event.objects.filter(type=OPENED)] == [ours]


def seen(checkouts: list[Checkout]) -> None:
    """Money that covers the price, on its way."""
    watcher = Watcher(height=1_000 * len(checkouts))
    for checkout in checkouts:
        watcher.sees(checkout)


def paid(checkouts: list[Checkout]) -> None:
    """Final money that covers the price."""
    seen(checkouts)
    Watcher(height=99_000).confirms()


def paid_twice(checkouts: list[Checkout]) -> None:
    """Final money that comes after the checkouts are paid."""
    paid(checkouts)
    attribute()
    paid(checkouts)


CAUSES = [seen, paid, paid_twice]


@pytest.mark.parametrize("become", CAUSES)
@pytest.mark.parametrize("has_taker", [True, False])
def test_a_batch_costs_as_many_statements_as_one_checkout(
    become: Callable[[list[Checkout]], None], has_taker: bool
) -> None:
    def statements(checkouts: int) -> int:
        merchant = choosing() if has_taker else make_merchant()
        become([make_checkout(merchant) for _ in range(checkouts)])
        with CaptureQueriesContext(connection) as asked:
            attribute()
        return len(asked)

    assert statements(2) == statements(12)


@pytest.mark.parametrize("become", CAUSES)
def test_where_nobody_chose_a_batch_costs_a_lock_and_a_look(become: Callable[[list[Checkout]], None]) -> None:
    become([make_checkout() for _ in range(3)])
    with CaptureQueriesContext(connection) as asked:
        attribute()
    texts = [query["sql"] for query in asked]
    assert [sum(word in text for text in texts) for word in ("advisory_xact_lock_shared", "AS taker")] == [1, 1]
    assert not Event.objects.filter(type__in=settings.WEBHOOK_OPT_IN_TYPES).exists()


def test_the_count_of_a_checkouts_events_is_that_of_those_that_all_receive() -> None:
    checkout, watcher = make_checkout(choosing()), Watcher()
    watcher.sees(checkout)
    attribute()
    watcher.confirms()
    attribute()
    checkout.refresh_from_db()
    assert checkout.event_count == 1
