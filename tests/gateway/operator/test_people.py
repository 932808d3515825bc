"""Who may log in is the operator's to say, oneself excepted."""

import pytest
from django.test import Client

from accounts.models import AuditEntry, Merchant, User
from tests.accounts.logins import is_logged_in
from tests.dashboard.people import log_in, make_member
from tests.gateway.operator.people import PEOPLE, act

pytestmark = pytest.mark.django_db


def test_whoever_is_deactivated_is_logged_out_and_stays_out(
    operators_browser: Client, operator: User, merchant: Merchant
) -> None:
    member = make_member(merchant)
    browser = log_in(member)
    assert is_logged_in(browser)
    act(operators_browser, PEOPLE, "deactivate", member)
    assert not is_logged_in(browser)
    entry = AuditEntry.objects.get(action="person.deactivated")
    assert (entry.actor, entry.object_id) == (operator, member.public_id)
    act(operators_browser, PEOPLE, "reactivate", member)
    member.refresh_from_db()
    assert member.is_active
    assert not is_logged_in(browser)


def test_nobody_deactivates_themselves(operators_browser: Client, operator: User) -> None:
    act(operators_browser, PEOPLE, "deactivate", operator)
    operator.refresh_from_db()
    assert operator.is_active


def test_a_person_is_shown_without_the_password(operators_browser: Client, operator: User) -> None:
    address = f"{PEOPLE}{operator.pk}/change/"
    page = operators_browser.get(address).content.decode()
    assert operator.email in page
    assert operator.password not in page
    operators_browser.post(address, {"email": "mine@halden.example", "is_staff": ""})
    operator.refresh_from_db()
    assert operator.is_staff
