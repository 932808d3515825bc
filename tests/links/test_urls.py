"""Addresses of links in the API."""

import pytest

from tests.routes import assert_leads_to

PATHS = {
    "/api/v1/links": "link-list",
    "/api/v1/links/lin_1": "link-detail",
    "/api/v1/links/lin_1/qr.png": "link-qr-png",
    "/api/v1/links/lin_1/qr.svg": "link-qr-svg",
    "/api/v1/links/lin_1/status": "link-set-status",
    "/api/v1/link_templates": "link_template-list",
    "/api/v1/link_templates/tem_1": "link_template-detail",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
