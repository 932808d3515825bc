"""Both reports, as the API answers them."""

from typing import Any

from tests.contract.client import ApiClient
from wallets.models import Transfer, WatchedMovement

SUMMARY = "/reports/summary"


def summary(shop: ApiClient, **query: Any) -> Any:
    """The body of an answer."""
    if "since" in query:
        query["from"] = query.pop("since")
    answer = shop.get(SUMMARY, query)
    assert answer.status == 200, answer.body
    return answer.body


LINES = "/reports/transactions"


def named(*rows: Transfer | WatchedMovement) -> list[str]:
    """The ids that reports have for rows."""
    return [row.public_id for row in rows]


def listed(shop: ApiClient, **query: Any) -> list[str]:
    """The ids of an answer, in its order."""
    if "since" in query:
        query["from"] = query.pop("since")
    answer = shop.get(LINES, query)
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer.body["data"]]
