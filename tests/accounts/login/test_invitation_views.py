"""The page an invitation leads to: who may take it, and sign-up where it is closed."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Membership, Merchant, User
from accounts.states import Role
from accounts.team.invitations import invite
from tests.accounts.logins import is_logged_in, last_mail, link_in
from tests.dashboard.people import log_in, make_member
from tests.factories import make_merchant

pytestmark = pytest.mark.django_db

GUEST = "new@example.test"
GOOD = "a long enough sentence"


@pytest.fixture
def link(merchant: Merchant, settings: Any) -> str:
    """The path that the guest's mail leads to, where sign-up is closed."""
    settings.SIGNUP_OPEN = False
    owner = make_member(merchant)
    invite(merchant, email=GUEST, role=Role.VIEWER, actor=owner, now=timezone.now())
    return link_in(last_mail(GUEST))


def sign_up(client: Client, email: str) -> Any:
    return client.post("/account/signup/", {"email": email, "password1": GOOD})


def test_a_guest_signs_up_though_it_is_closed_and_needs_no_code(link: str, merchant: Merchant) -> None:
    client = Client()
    assert "Halden Roasters" in client.get(link).text
    sign_up(client, GUEST)
    assert is_logged_in(client)
    assert not Membership.objects.filter(user__email=GUEST).exists()
    answer = client.post(link)
    assert answer["Location"] == f"/dashboard/{merchant.public_id}/live/"
    assert Membership.objects.get(user__email=GUEST).role == Role.VIEWER


def test_a_guest_cannot_take_another_address(link: str) -> None:
    client = Client()
    client.get(link)
    sign_up(client, "other@example.test")
    assert not User.objects.filter(email="other@example.test").exists()
    assert User.objects.filter(email=GUEST).exists()


def test_without_the_link_it_stays_closed(link: str) -> None:
    sign_up(Client(), GUEST)
    assert not User.objects.filter(email=GUEST).exists()


def test_a_link_that_is_used_opens_nothing_any_more(link: str) -> None:
    first = Client()
    first.get(link)
    sign_up(first, GUEST)
    first.post(link)
    second = Client()
    assert second.get(link).status_code == 409
    sign_up(second, "other@example.test")
    assert not User.objects.filter(email="other@example.test").exists()


def test_looking_at_the_link_accepts_nothing(link: str) -> None:
    guest = make_member(make_merchant())
    User.objects.filter(pk=guest.pk).update(email=GUEST)
    client = log_in(guest)
    assert "Join</button>" in client.get(link).text
    assert guest.memberships.count() == 1
    client.post(link)
    assert guest.memberships.count() == 2


def test_somebody_else_who_has_the_link_gets_nothing(link: str) -> None:
    thief = make_member(make_merchant())
    client = log_in(thief)
    assert "Join</button>" not in client.get(link).text
    assert client.post(link).status_code == 409
    assert thief.memberships.count() == 1


def test_nobody_in_particular_accepts_nothing(link: str) -> None:
    assert Client().post(link).status_code == 200
    assert not Membership.objects.filter(role=Role.VIEWER).exists()
