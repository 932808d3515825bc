"""Addresses of chains and wallets in the API."""

import pytest

from tests.routes import assert_leads_to

PATHS = {
    "/api/v1/chains": "chain-list",
    "/api/v1/wallets": "wallet-list",
    "/api/v1/wallets/wal_1": "wallet-detail",
    "/api/v1/wallets/wal_1/transactions": "wallet-transactions",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
