"""What every API test needs: chains that can be offered, and the document that describes the answers."""

from typing import Any

import pytest

from tests.contract.client import ApiClient


@pytest.fixture(autouse=True)
def _local_nodes(local_nodes: None) -> None:
    """Base, Polygon and Ethereum are configured."""


@pytest.fixture(scope="module")
def document(django_db_blocker: Any) -> dict[str, Any]:
    """The document as a client downloads it."""
    with django_db_blocker.unblock():
        body: dict[str, Any] = ApiClient().get("/openapi.json").body
    return body
