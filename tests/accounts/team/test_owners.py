"""Reaching the people who own a merchant."""

import pytest

from accounts.models import Membership
from accounts.states import Role
from accounts.team.owners import mail_owners
from mails.models import OutgoingMail
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db


def test_each_active_owner_is_told_once_and_sees_no_other_address() -> None:
    merchant = make_merchant()
    told = {f"{name}@halden.example" for name in ("ana", "bo")}
    for email in told:
        Membership.objects.create(merchant=merchant, user=make_user(email), role=Role.OWNER)
    Membership.objects.create(merchant=merchant, user=make_user(), role=Role.ADMIN)
    gone = make_user("gone@halden.example")
    gone.is_active = False
    gone.save()
    Membership.objects.create(merchant=merchant, user=gone, role=Role.OWNER)

    def tell() -> int:
        return mail_owners(merchant.pk, key="alarm:1", subject="An alarm", text="It rang.", now=NOON)

    assert tell() == 2
    assert tell() == 0
    assert set(OutgoingMail.objects.values_list("recipient", flat=True)) == told
