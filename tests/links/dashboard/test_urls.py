"""Addresses of the merchant's pages of links."""

import pytest

from tests.routes import DESK, assert_leads_to

PATHS = {
    f"{DESK}/links/": "dashboard_links",
    f"{DESK}/links/new/": "dashboard_new_link",
    f"{DESK}/links/new/invoice/": "dashboard_new_link_of",
    f"{DESK}/links/templates/tem_1/delete/": "dashboard_delete_link_template",
    f"{DESK}/links/lin_1/": "dashboard_link",
    f"{DESK}/links/lin_1/edit/": "dashboard_edit_link",
    f"{DESK}/links/lin_1/status/paused/": "dashboard_link_status",
    f"{DESK}/links/lin_1/qr/png/": "dashboard_link_qr",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
