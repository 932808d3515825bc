"""Addresses of the gateway as a whole."""

import pytest

from tests.routes import assert_leads_to

PATHS = {"/api/v1/openapi.json": "openapi", "/readyz": "ready"}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
