"""Addresses of the merchant's pages of checkouts and the inbox."""

import pytest

from tests.routes import DESK, assert_leads_to

PATHS = {
    f"{DESK}/checkouts/": "dashboard_checkouts",
    f"{DESK}/checkouts/new/": "dashboard_new_checkout",
    f"{DESK}/checkouts/export/": "dashboard_checkouts_csv",
    f"{DESK}/checkouts/che_1/": "dashboard_checkout",
    f"{DESK}/checkouts/che_1/live/": "dashboard_checkout_live",
    f"{DESK}/checkouts/che_1/deliveries/del_1/resend/": "dashboard_resend",
    f"{DESK}/checkouts/che_1/cancel/": "dashboard_cancel",
    f"{DESK}/checkouts/che_1/note/": "dashboard_checkout_note",
    f"{DESK}/checkouts/che_1/receipt/": "dashboard_send_receipt",
    f"{DESK}/checkouts/che_1/refund/": "dashboard_note_refund",
    f"{DESK}/checkouts/che_1/release/": "dashboard_release",
    f"{DESK}/inbox/": "dashboard_inbox",
    f"{DESK}/inbox/export/": "dashboard_inbox_export",
    f"{DESK}/inbox/reports/": "dashboard_buyer_reports",
    f"{DESK}/inbox/reports/7/close/": "dashboard_close_report",
    f"{DESK}/inbox/7/": "dashboard_inbox_item",
    f"{DESK}/inbox/7/decide/": "dashboard_inbox_decide",
    f"{DESK}/inbox/7/decisions/7/undo/": "dashboard_inbox_undo",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
