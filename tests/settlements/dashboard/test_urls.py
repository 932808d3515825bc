"""Addresses of the merchant's pages of settlements."""

import pytest

from tests.routes import DESK, assert_leads_to

PATHS = {
    f"{DESK}/settlements/": "dashboard_settlements",
    f"{DESK}/settlements/settle/": "dashboard_settle",
    f"{DESK}/settlements/intervals/": "dashboard_settlement_intervals",
    f"{DESK}/settlements/by-wallet/": "dashboard_settle_by_wallet",
    f"{DESK}/settlements/by-wallet/bat_1/": "dashboard_wallet_settlement",
    f"{DESK}/settlements/set_1/": "dashboard_settlement",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
