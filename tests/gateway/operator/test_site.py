"""The operator's site: its routes, and the one login there is."""

import pytest
from django.test import Client
from django.urls import reverse

from gateway.operator.registry import site
from tests.gateway.operator.doors import addresses, locations

pytestmark = pytest.mark.django_db


def test_the_walk_sees_the_routes_there_are() -> None:
    found = addresses()
    assert {"/operator/", "/operator/health/", "/operator/accounts/merchant/"} <= set(found)


def test_nobody_is_led_to_the_only_login_and_back() -> None:
    assert locations(Client()) == {"/account/login/"}
    answer = Client().get("/operator/health/")
    assert answer["Location"] == "/account/login/?next=%2Foperator%2Fhealth%2F"
    assert Client().get("/operator/login/")["Location"] == "/operator/"


def test_operators_see_every_list_and_page(operators_browser: Client) -> None:
    lists = [reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist") for model in site._registry]
    for address in [*lists, "/operator/", "/operator/health/"]:
        answer = operators_browser.get(address)
        assert answer.status_code == 200, address
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        assert "unsafe" not in answer["Content-Security-Policy"]
