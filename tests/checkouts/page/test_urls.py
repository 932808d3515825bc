"""Addresses of the buyer's page."""

import pytest

from tests.routes import assert_leads_to

PATHS = {
    "/c/7h3k": "checkout",
    "/c/7h3k/choose": "checkout-choose",
    "/c/7h3k/again": "checkout-again",
    "/c/7h3k/find": "checkout-find",
    "/c/7h3k/receipt": "checkout-receipt",
    "/c/7h3k/status": "checkout-status",
    "/c/7h3k/wallets": "checkout-wallets",
    "/c/7h3k/transaction": "checkout-transaction",
    "/c/7h3k/signed": "checkout-signed",
    "/c/7h3k/stream": "checkout-stream",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
