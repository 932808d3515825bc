"""Addresses of the pages of logins."""

import pytest

from tests.routes import assert_leads_to

PATHS = {
    "/account/security/": "account_security",
    "/account/sessions/": "account_sessions",
    "/account/sessions/7/end/": "account_end_session",
    "/account/invitation/abc:def/": "account_invitation",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
