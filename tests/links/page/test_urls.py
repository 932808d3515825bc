"""Addresses of a link's page."""

import pytest

from tests.routes import assert_leads_to

PATHS = {"/p/7h3k": "link", "/p/7h3k/s/abc:def": "link-personal"}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
