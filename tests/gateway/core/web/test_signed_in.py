"""Sessions, CSRF and logins, for the pages of people who log in and for no others."""

import pytest
from django.test import Client

from gateway.core.web.signed_in import wants_login

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("path", "is_wanted"),
    [
        ("/account/login/", True),
        ("/dashboard/", True),
        ("/operator/", True),
        ("/btcpay/api-keys/authorize", True),
        ("/btcpay/invoices/chk_live_1", True),
        ("/accounts", False),
        ("/btcpay/i/chk_live_1", False),
        ("/btcpay/api/v1/stores", False),
        ("/c/7h3k", False),
        ("/api/v1/checkouts", False),
    ],
)
def test_a_path_tells_whether_people_log_in(path: str, is_wanted: bool) -> None:
    assert wants_login(path) is is_wanted


def test_pages_of_people_who_log_in_are_kept_nowhere_and_framed_by_nobody() -> None:
    answer = Client().get("/account/login/")
    assert answer["Cache-Control"] == "no-store"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"


def test_other_pages_set_no_cookie() -> None:
    assert not Client().get("/c/none").cookies
