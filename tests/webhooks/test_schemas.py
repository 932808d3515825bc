"""The description of an event has what is sent."""

import json

import pytest

from tests.factories import NOON, make_merchant
from tests.webhooks.factories import new_event
from webhooks.models import Event
from webhooks.outbox.events import publish
from webhooks.schemas import EventBody


@pytest.mark.django_db
def test_the_description_has_the_fields_of_a_body() -> None:
    publish([new_event(make_merchant())], now=NOON)
    body = json.loads(bytes(Event.objects.get().body))
    assert set(EventBody().get_fields()) == set(body)
