"""Addresses of the dashboard as a whole."""

import pytest

from tests.routes import DESK, assert_leads_to

PATHS = {f"{DESK}/close-account/": "dashboard_closing", f"{DESK}/close-account/confirm/": "dashboard_close_account"}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
