"""The body of each webhook fits the OpenAPI document, and its example there is a real one."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.audit.actors import Actor
from checkouts.attribution.queue import attribute_transfers
from checkouts.inbox.service import apply_decisions, decide_item
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxAct
from gateway.restores.service import note_restore
from gateway.status.models import Incident, IncidentKind
from gateway.status.system_events import publish_system_events
from payouts.following.service import follow_movements
from payouts.lifecycle.service import cancel_payout, set_address
from payouts.models import Payout
from payouts.states import AddressBy
from tests.checkouts.watcher import DOLLAR
from tests.contract.client import ApiClient
from tests.contract.examples import check_event_example
from tests.contract.machines import verified
from tests.contract.payments import expire, pay
from tests.contract.test_openapi import NEW_CHECKOUT, validator_of
from tests.factories import make_user
from tests.payouts.factories import BUYER, USDC, approved, make_approver, make_payout, outflow_for, refund_of
from tests.webhooks.listed.test_publishing import listed
from wallets.models import Transfer, WatchedMovement
from wallets.states import TransferState
from wallets.transfers.movements import queue_movements
from x402.payments.transfers import follow_transfers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("still_clock")]


def _completed(client: ApiClient) -> None:
    pay(client.created(**NEW_CHECKOUT)["id"])


def _underpaid(client: ApiClient) -> None:
    pay(client.created(**NEW_CHECKOUT)["id"], 50)


def _expired(client: ApiClient) -> None:
    expire(client.created(**NEW_CHECKOUT)["id"])


def _reversed(client: ApiClient) -> None:
    verified(client)
    _become(TransferState.ORPHANED, orphaned_at=timezone.now())


def _lost(client: ApiClient) -> None:
    _completed(client)
    _become(TransferState.ORPHANED, orphaned_at=timezone.now())


def _back(client: ApiClient) -> None:
    _lost(client)
    now = timezone.now()
    _become(TransferState.CONFIRMED, orphaned_at=None, confirmed_at=now)


def _returned(client: ApiClient) -> None:
    _reversed(client)
    _become(TransferState.DETECTED, orphaned_at=None)


def _restored(client: ApiClient) -> None:
    del client
    now = timezone.now()
    note_restore(now - timedelta(minutes=10), now=now)


def _become(state: TransferState, **values: object) -> None:
    Transfer.objects.update(state=state, queued_at=timezone.now(), **values)
    follow_transfers(now=timezone.now())
    attribute_transfers(now=timezone.now())


def _seen(client: ApiClient) -> None:
    pay(client.created(**NEW_CHECKOUT)["id"], final=False)


def _opened(client: ApiClient) -> None:
    checkout_id = client.created(**NEW_CHECKOUT)["id"]
    pay(checkout_id)
    pay(checkout_id)


def _closed(client: ApiClient) -> None:
    _opened(client)
    now = timezone.now()
    decide_item(InboxItem.objects.get(), act=InboxAct.DISMISS, now=now, actor=Actor(make_user()))
    assert apply_decisions(now=now + UNDO_SPAN) == 1


def _asked(client: ApiClient, kind: str) -> Payout:
    """What waits for an address, refund or payout."""
    assert client.merchant is not None
    if kind == "payout":
        return make_payout(client.merchant, address="")
    checkout_id = client.created(**NEW_CHECKOUT)["id"]
    pay(checkout_id)
    checkout = Checkout.objects.get(public_id=checkout_id)
    return refund_of(checkout, 5 * DOLLAR, reason="The blue one was sold out", **USDC).payout


def _claimed(client: ApiClient, kind: str) -> Payout:
    return set_address(_asked(client, kind), address=BUYER, by=AddressBy.CLAIM, now=timezone.now())


def _approved(client: ApiClient, kind: str) -> Payout:
    payout = _claimed(client, kind)
    return approved(payout, make_approver(payout.merchant))


def _sent(client: ApiClient, kind: str) -> WatchedMovement:
    movement = outflow_for(_approved(client, kind))
    _follow(movement)
    return movement


def _unsent(client: ApiClient, kind: str) -> None:
    movement = _sent(client, kind)
    now = timezone.now()
    WatchedMovement.objects.filter(pk=movement.pk).update(state=TransferState.ORPHANED, orphaned_at=now)
    _follow(movement)


def _follow(movement: WatchedMovement) -> None:
    queue_movements([movement.pk], now=timezone.now())
    follow_movements(now=timezone.now())


def _cancelled(client: ApiClient, kind: str) -> None:
    cancel_payout(_asked(client, kind), now=timezone.now())


def _stopped(client: ApiClient) -> None:
    """Base does not answer, and the merchant receives there."""
    del client
    now = timezone.now()
    Incident.objects.create(kind=IncidentKind.CHAIN, chain="base", stopped=True, began_at=now - timedelta(minutes=5))
    publish_system_events(now=now)


def _answers_again(client: ApiClient) -> None:
    assert client.merchant is not None
    listed(client.merchant, "https://ops.example/", "system.disrupted")
    _stopped(client)
    Incident.objects.update(ended_at=timezone.now())
    publish_system_events(now=timezone.now())


def _of_kind(cause: Callable[[ApiClient, str], object], kind: str) -> Callable[[ApiClient], object]:
    return lambda client: cause(client, kind)


SENT_BACK: dict[str, Callable[[ApiClient, str], object]] = {
    "claimed": _claimed,
    "approved": _approved,
    "paid": _sent,
    "reversed": _unsent,
    "ended": _cancelled,
}
CAUSES: dict[str, Callable[[ApiClient], object]] = {
    "checkout.completed": _completed,
    "checkout.underpaid": _underpaid,
    "checkout.expired": _expired,
    "checkout.reversed": _lost,
    "checkout.restored": _back,
    "x402.payment.reversed": _reversed,
    "x402.payment.returned": _returned,
    "gateway.restored": _restored,
    "checkout.processing": _seen,
    "checkout.transfer_confirmed": _completed,
    "inbox.opened": _opened,
    "inbox.closed": _closed,
    "system.disrupted": _stopped,
    "system.recovered": _answers_again,
    **{f"{kind}.{what}": _of_kind(cause, kind) for kind in ("refund", "payout") for what, cause in SENT_BACK.items()},
}


def test_each_type_has_a_cause_here_and_a_webhook_in_the_document() -> None:
    webhooks = ApiClient().get("/openapi.json").body["webhooks"]
    assert set(CAUSES) == set(webhooks) == set(settings.WEBHOOK_EVENT_TYPES)


@pytest.mark.parametrize("name", CAUSES)
def test_the_body_fits_the_document_and_its_example(seller: ApiClient, name: str) -> None:
    assert seller.merchant is not None
    if name in settings.WEBHOOK_OPT_IN_TYPES:
        listed(seller.merchant, "https://desk.example/", name)
    CAUSES[name](seller)
    document: dict[str, Any] = ApiClient().get("/openapi.json").body
    [body] = seller.get("/events", {"type": name}).body["data"]
    content = document["webhooks"][name]["post"]["requestBody"]["content"]
    validator_of(document, content["application/json"]["schema"]).validate(body)
    check_event_example(name, body)
