"""Addresses of checkouts in the API."""

import pytest

from tests.routes import assert_leads_to

PATHS = {
    "/api/v1/checkouts": "checkout-list",
    "/api/v1/checkouts/che_1": "checkout-detail",
    "/api/v1/checkouts/che_1/cancel": "checkout-cancel",
    "/api/v1/checkouts/che_1/options": "checkout-choose",
    "/api/v1/checkouts/che_1/release": "checkout-release",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
