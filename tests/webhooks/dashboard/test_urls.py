"""Addresses of the webhooks desk."""

import pytest

from tests.routes import DESK, assert_leads_to

PATHS = {
    f"{DESK}/webhooks/": "dashboard_webhooks",
    f"{DESK}/webhooks/url/": "dashboard_webhook_url",
    f"{DESK}/webhooks/secret/": "dashboard_webhook_secret",
    f"{DESK}/webhooks/secret/roll/": "dashboard_roll_webhook_secret",
    f"{DESK}/webhooks/endpoints/7/enable/": "dashboard_enable_endpoint",
    f"{DESK}/webhooks/endpoints/7/test/": "dashboard_test_event",
    f"{DESK}/webhooks/deliveries/": "dashboard_deliveries",
    f"{DESK}/webhooks/deliveries/retry/": "dashboard_retry_deliveries",
    f"{DESK}/webhooks/deliveries/del_1/": "dashboard_delivery",
    f"{DESK}/webhooks/deliveries/del_1/live/": "dashboard_delivery_live",
    f"{DESK}/webhooks/deliveries/del_1/retry/": "dashboard_retry_delivery",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
