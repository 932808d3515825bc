"""Batches of deliveries."""

from datetime import timedelta
from typing import Any

import pytest

from gateway.core.secrets import unseal
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import make_deliveries, make_endpoint
from webhooks.delivery import batches
from webhooks.delivery.batches import ENDPOINT_ROOM, Demand, claim_batch
from webhooks.delivery.claims import Room
from webhooks.endpoints.secrets import ensure_secret
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


LEASE = timedelta(seconds=15)


def test_without_the_key_to_its_secret_a_delivery_waits_and_others_go_on(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_unsealed", unseal)
    merchants = [make_merchant(), make_merchant()]
    key = settings.ENCRYPTION_KEYS
    ensure_secret(merchants[0], now=NOON)
    for merchant in merchants:
        make_deliveries(make_endpoint(merchant))
    settings.ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]
    demand = Demand(
        sender="one", lease=LEASE, rooms={}, held=[], renewed=[], released=[], limit=10, after=0, passed_over=[]
    )
    batch = claim_batch(demand, now=NOON)
    assert [work.claimed.merchant for work in batch.work] == [merchants[1].pk]
    settings.ENCRYPTION_KEYS = [*settings.ENCRYPTION_KEYS, *key]
    again = Demand(
        **{
            **{name: getattr(demand, name) for name in Demand.__slots__},
            "rooms": {key: Room(ENDPOINT_ROOM, idle=True) for key in batch.taken},
            "held": [work.claimed.delivery for work in batch.work],
        }
    )
    more = claim_batch(again, now=NOON)
    assert [work.claimed.merchant for work in more.work] == [merchants[0].pk]
    assert Delivery.objects.filter(tries=0).count() == 2
