"""Asking in the standard's words, as its published middlewares do."""

from typing import Any

from tests.contract.client import ApiClient


def verify(client: ApiClient, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a verification."""
    return _asked(client, "/x402/verify", body)


def settle(client: ApiClient, body: dict[str, Any], *, key: str = "") -> dict[str, Any]:
    """The answer to a settlement, with an Idempotency-Key if one is given."""
    return _asked(client, "/x402/settle", body, key)


def _asked(client: ApiClient, path: str, body: dict[str, Any], key: str = "") -> dict[str, Any]:
    named = {"HTTP_IDEMPOTENCY_KEY": key} if key else {}
    answer = client.send("POST", path, body, **named)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.body
    return found
