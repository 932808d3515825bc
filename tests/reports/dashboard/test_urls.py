"""Addresses of the overview, the search and the reports."""

import pytest

from tests.routes import DESK, assert_leads_to

PATHS = {
    f"{DESK}/": "dashboard_overview",
    f"{DESK}/latest/": "dashboard_latest",
    f"{DESK}/search/": "dashboard_search",
    f"{DESK}/payments/": "dashboard_payments",
    f"{DESK}/reports/": "dashboard_reports",
    f"{DESK}/reports/export/": "dashboard_reports_csv",
    f"{DESK}/fees/": "dashboard_fees",
    f"{DESK}/fees/2026-11/": "dashboard_statement",
    f"{DESK}/fees/2026-11/export/": "dashboard_statement_csv",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
