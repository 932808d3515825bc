"""Addresses of the pages of a team, its keys, its brand and its audit log."""

import pytest

from tests.routes import DESK, assert_leads_to

PATHS = {
    f"{DESK}/team/": "dashboard_team",
    f"{DESK}/team/invite/": "dashboard_invite",
    f"{DESK}/team/leave/": "dashboard_leave",
    f"{DESK}/team/invitations/inv_1/withdraw/": "dashboard_withdraw_invitation",
    f"{DESK}/team/use_1/role/": "dashboard_set_role",
    f"{DESK}/team/use_1/remove/": "dashboard_remove_member",
    f"{DESK}/api-keys/": "dashboard_keys",
    f"{DESK}/api-keys/create/": "dashboard_create_key",
    f"{DESK}/api-keys/key_1/revoke/": "dashboard_revoke_key",
    f"{DESK}/branding/": "dashboard_branding",
    f"{DESK}/branding/checkout-page/": "dashboard_checkout_page",
    f"{DESK}/branding/preview/": "dashboard_branding_preview",
    f"{DESK}/branding/preview.css": "dashboard_branding_style",
    f"{DESK}/audit-log/": "dashboard_audit_log",
    f"{DESK}/audit-log/export/": "dashboard_audit_log_csv",
    f"{DESK}/audit-log/check/": "dashboard_audit_log_check",
    f"{DESK}/data-export/": "dashboard_data_export",
    f"{DESK}/data-export/download/": "dashboard_download_data",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
