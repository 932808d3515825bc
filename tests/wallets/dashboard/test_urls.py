"""Addresses of the merchant's pages of wallets."""

import pytest

from tests.routes import DESK, assert_leads_to

PATHS = {
    f"{DESK}/receiving-wallets/": "dashboard_receiving_wallets",
    f"{DESK}/receiving-wallets/wait/": "dashboard_wallet_wait",
    f"{DESK}/receiving-wallets/changes/7/cancel/": "dashboard_cancel_wallet_change",
    f"{DESK}/receiving-wallets/proofs/7/": "dashboard_prove_receiving_wallet",
    f"{DESK}/receiving-wallets/base/": "dashboard_receiving_wallet",
    f"{DESK}/receiving-wallets/base/set/": "dashboard_set_receiving_wallet",
    f"{DESK}/watched-wallets/": "dashboard_watched_wallets",
    f"{DESK}/watched-wallets/new/": "dashboard_watch_wallet",
    f"{DESK}/watched-wallets/live/": "dashboard_watched_wallets_live",
    f"{DESK}/watched-wallets/wal_1/": "dashboard_watched_wallet",
    f"{DESK}/watched-wallets/wal_1/live/": "dashboard_watched_wallet_live",
    f"{DESK}/watched-wallets/wal_1/export/": "dashboard_watched_wallet_csv",
    f"{DESK}/watched-wallets/wal_1/edit/": "dashboard_edit_watched_wallet",
    f"{DESK}/watched-wallets/wal_1/remove/": "dashboard_unwatch_wallet",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
