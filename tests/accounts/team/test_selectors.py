"""Which merchants a person sees first."""

import pytest

from accounts.merchants.closure import close_account
from accounts.models import Membership
from accounts.states import Role
from accounts.team.selectors import merchants_of
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant

pytestmark = pytest.mark.django_db


def test_a_person_of_two_merchants_comes_first_to_the_open_one() -> None:
    closed, open_one = make_merchant("A"), make_merchant("B")
    owner = make_member(closed)
    Membership.objects.create(merchant=open_one, user=owner, role=Role.VIEWER)
    assert merchants_of(owner) == [closed, open_one]
    close_account(closed, by=owner, now=NOON)
    assert merchants_of(owner) == [open_one, closed]
