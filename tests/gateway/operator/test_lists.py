"""What every list of the operator's refuses."""

import pytest
from django.test import Client

from gateway.operator.registry import site
from tests.gateway.operator.doors import addresses
from tests.gateway.operator.people import PEOPLE

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("column", ["password", "password__startswith"])
def test_no_address_asks_for_a_hash(operators_browser: Client, column: str) -> None:
    assert operators_browser.get(PEOPLE, {column: "argon2"}).status_code in {302, 400}


def test_nothing_can_be_added_or_deleted_by_hand(operators_browser: Client) -> None:
    found = [address for address in addresses() if address.endswith(("/add/", "/delete/"))]
    assert len(found) == 2 * len(site._registry)
    assert {operators_browser.get(address).status_code for address in found} <= {302, 403}
    assert {operators_browser.post(address).status_code for address in found} <= {302, 403}
