"""What every API test needs: chains that can be offered, and the document that describes the answers."""

import os
from typing import Any

import pytest

from gateway.pages import api_document
from tests.contract.client import NEW_SETTINGS, ApiClient

# It compares answers without the settings and with them.
_TURNS_ON_ITSELF = "tests.contract.test_new_settings"


@pytest.fixture(autouse=True)
def _local_nodes(local_nodes: None) -> None:
    """Base, Polygon and Ethereum are configured."""


@pytest.fixture(autouse=True)
def _every_new_setting(_local_nodes: None, request: pytest.FixtureRequest, settings: Any) -> None:
    """Turn every new setting on, where the environment asks for it. A test that sets one itself still has its own."""
    if NEW_SETTINGS not in os.environ or request.module.__name__ == _TURNS_ON_ITSELF:
        return
    from tests.contract.test_new_settings import RATES, set_all

    # Made once in a process, by settings that its serializers were imported with: later ones would change only some of them.
    api_document.document()
    set_all(settings)
    # Tests without a database ask for no checkout, so they need no rates.
    if request.node.get_closest_marker("django_db"):
        request.getfixturevalue("_django_db_helper")
        from tests.rates.playing import store_rates

        store_rates(RATES)


@pytest.fixture(scope="module")
def document(django_db_blocker: Any) -> dict[str, Any]:
    """The document as a client downloads it."""
    with django_db_blocker.unblock():
        body: dict[str, Any] = ApiClient().get("/openapi.json").body
    return body
