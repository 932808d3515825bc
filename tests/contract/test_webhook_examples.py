"""The body of each webhook fits the OpenAPI document, and its example there is a real one."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from checkouts.attribution.queue import attribute_transfers
from gateway.restores.service import note_restore
from tests.contract.client import ApiClient
from tests.contract.examples import check_event_example
from tests.contract.machines import verified
from tests.contract.payments import expire, pay
from tests.contract.test_openapi import NEW_CHECKOUT, validator_of
from wallets.models import Transfer
from wallets.states import TransferState
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


CAUSES = {
    "checkout.completed": _completed,
    "checkout.underpaid": _underpaid,
    "checkout.expired": _expired,
    "checkout.reversed": _lost,
    "checkout.restored": _back,
    "x402.payment.reversed": _reversed,
    "x402.payment.returned": _returned,
    "gateway.restored": _restored,
}


def test_each_type_has_a_cause_here_and_a_webhook_in_the_document() -> None:
    webhooks = ApiClient().get("/openapi.json").body["webhooks"]
    assert set(CAUSES) == set(webhooks) == set(settings.WEBHOOK_EVENT_TYPES)


@pytest.mark.parametrize("name", CAUSES)
def test_the_body_fits_the_document_and_its_example(seller: ApiClient, name: str) -> None:
    CAUSES[name](seller)
    document: dict[str, Any] = ApiClient().get("/openapi.json").body
    [body] = seller.get("/events", {"type": name}).body["data"]
    content = document["webhooks"][name]["post"]["requestBody"]["content"]
    validator_of(document, content["application/json"]["schema"]).validate(body)
    check_event_example(name, body)
