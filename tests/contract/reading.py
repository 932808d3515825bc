"""Checkouts as the API reads them."""

from typing import Any

from tests.contract.client import ApiClient


def read(client: ApiClient, checkout_id: str) -> dict[str, Any]:
    answer = client.get(f"/checkouts/{checkout_id}")
    assert answer.status == 200
    found: dict[str, Any] = answer.body
    return found
