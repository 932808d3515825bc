"""Asking in the standard's words, as its published middlewares do."""

from typing import Any

from tests.contract.client import ApiClient


def verify(client: ApiClient, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a verification."""
    return _asked(client, "/x402/verify", body)


def settle(client: ApiClient, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a settlement."""
    return _asked(client, "/x402/settle", body)


def _asked(client: ApiClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.send("POST", path, body)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.body
    return found
