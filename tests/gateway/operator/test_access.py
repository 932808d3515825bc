"""Who comes in at /operator/: staff, by a second factor, who proved a moment ago who they are."""

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client

from accounts.models import User
from tests.accounts.logins import totp_code
from tests.dashboard.people import log_in, make_member
from tests.factories import make_merchant
from tests.gateway.operator.doors import addresses, locations
from tests.gateway.operator.people import log_in_by_factor, make_operator

pytestmark = pytest.mark.django_db


def statuses(client: Client, method: str = "get") -> dict[str, int]:
    return {address: getattr(client, method)(address).status_code for address in addresses()}


def test_people_who_are_no_staff_find_nothing() -> None:
    owner = log_in_by_factor(make_member(make_merchant()))
    for method in ("get", "post"):
        assert set(statuses(owner, method).values()) == {404}


def test_staff_without_a_second_factor_is_led_to_setting_one_up() -> None:
    client = log_in(make_operator(has_factor=False))
    assert locations(client) == {"/account/security/"}
    assert "second factor" in client.get("/account/security/").content.decode()


def test_a_login_from_before_the_factor_was_there_proves_it_first() -> None:
    operator = make_operator(has_factor=False)
    client = log_in(operator)
    TOTP.activate(operator, generate_totp_secret())
    assert locations(client) == {"/account/second-factor/reauthenticate/"}


def test_whoever_proved_it_too_long_ago_proves_it_again() -> None:
    client = log_in_by_factor(make_operator(), seconds_ago=601)
    assert locations(client) == {"/account/second-factor/reauthenticate/"}


def test_a_person_who_was_deactivated_is_nobody(operators_browser: Client, operator: User) -> None:
    operator.is_active = False
    operator.save()
    assert locations(operators_browser) == {"/account/login/"}


def test_a_form_that_was_sent_too_late_goes_on_after_the_proof() -> None:
    merchant, key = make_merchant(), generate_totp_secret()
    strict = log_in_by_factor(make_operator(key=key), enforce_csrf_checks=True)
    address = f"/operator/accounts/merchant/{merchant.pk}/change/"
    token = {"csrfmiddlewaretoken": str(strict.get(address).context["csrf_token"])}
    session = strict.session
    for proof in session["account_authentication_methods"]:
        proof["at"] -= 601
    session.save()
    form = {"fee_tier": "growth", "fee_rate": "0.01"}
    asked = strict.post(address, token | form)
    assert "reauthenticate/?next=" in asked["Location"]
    merchant.refresh_from_db()
    assert merchant.fee_tier == "starter"
    strict.post(asked["Location"], token | {"code": totp_code(key), "next": address})
    merchant.refresh_from_db()
    assert merchant.fee_tier == "growth"


def test_a_form_from_elsewhere_is_refused(operator: User) -> None:
    strict = log_in_by_factor(operator, enforce_csrf_checks=True)
    answer = strict.post("/operator/accounts/user/", {"action": "deactivate"})
    assert answer.status_code == 403
