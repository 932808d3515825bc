"""Every page of the documentation, written once."""

import pytest

from gateway.docs.pages import pages
from tests.gateway.docs.addresses import get


@pytest.fixture(scope="module")
def written(django_db_blocker: pytest.FixtureRequest) -> dict[str, str]:
    """Each page's HTML by its address."""
    addresses = ["/docs/", "/docs/api/explorer/", *[page.url for page in pages().values()]]
    return {address: get(address) for address in addresses}
