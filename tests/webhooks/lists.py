"""The list of events, as the API answers it."""

from typing import Any

from django.test import Client

from accounts.models import Merchant
from accounts.states import Mode
from tests.factories import make_key


def get(merchant: Merchant, query: str = "", mode: Mode = Mode.LIVE) -> Any:
    _, key = make_key(merchant, mode)
    response = Client().get(f"/api/v1/events{query}", headers={"Authorization": f"Bearer {key}"})
    return response


def sequences(response: Any) -> list[int]:
    assert response.status_code == 200, response.content
    return [event["sequence"] for event in response.json()["data"]]
