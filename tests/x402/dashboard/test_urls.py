"""Addresses of the merchant's pages of x402."""

import pytest

from tests.routes import DESK, assert_leads_to

PATHS = {
    f"{DESK}/x402/": "dashboard_x402",
    f"{DESK}/x402/export/": "dashboard_x402_csv",
    f"{DESK}/x402/setup/": "dashboard_x402_setup",
    f"{DESK}/x402/forwarders/": "dashboard_x402_forwarders",
    f"{DESK}/x402/signature/": "dashboard_x402_signature",
    f"{DESK}/x402/wallets/base/": "dashboard_x402_wallet",
    f"{DESK}/x402/wallets/base/set/": "dashboard_set_x402_wallet",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
