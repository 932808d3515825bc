"""Addresses of the facilitator."""

import pytest

from tests.routes import assert_leads_to

PATHS = {
    "/api/v1/x402/config": "x402-config",
    "/api/v1/x402/payments": "x402-payments",
    "/api/v1/x402/settle": "x402-settle",
    "/api/v1/x402/supported": "x402-supported",
    "/api/v1/x402/verify": "x402-verify",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
