"""Links made and changed through the API."""

from typing import Any

from tests.contract.client import ApiClient

CUSTOM: dict[str, Any] = {"title": "Tea", "amount": "25.00"}

DONATION: dict[str, Any] = {"title": "Trees", "type": "donation"}

SUBSCRIPTION: dict[str, Any] = CUSTOM | {"type": "subscription", "interval": "month"}


def created(seller: ApiClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = seller.post("/links", body)
    assert answer.status == 201, answer.body
    link: dict[str, Any] = answer.body
    return link


def change(seller: ApiClient, link: dict[str, Any], **fields: Any) -> Any:
    return seller.send("PATCH", f"/links/{link['id']}", fields)
