"""What the overview asks a new merchant to do."""

import pytest
from allauth.mfa.models import Authenticator

from accounts.states import Mode, Role
from checkouts.models import CheckoutCount
from tests.checkouts.factories import make_completed
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_key, make_wallet
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


def test_the_checklist_goes_on_until_all_is_done(owner: Desk, viewer: Desk) -> None:
    tasks = owner.get("dashboard_overview").context["onboarding"].tasks
    assert [task.is_done for task in tasks] == [True, True, *[False] * 5]
    make_wallet(owner.merchant)
    make_key(owner.merchant, Mode.TEST)
    make_completed(merchant=owner.merchant, mode=Mode.TEST)
    _count_completed(owner)
    Endpoint.objects.create(merchant=owner.merchant, mode=Mode.LIVE, url="https://x.example", is_default=True)
    page = owner.get("dashboard_overview")
    assert "6 of 7 done" in page.text
    Authenticator.objects.create(user=owner.user, type=Authenticator.Type.TOTP, data={})
    assert "Set up your account" not in owner.get("dashboard_overview").text
    assert "Set up your account" not in viewer.get("dashboard_overview").text


def _count_completed(desk: Desk) -> None:
    CheckoutCount.objects.filter(merchant=desk.merchant).update(status="completed")


def test_the_first_test_checkout_is_made_in_test_mode(owner: Desk) -> None:
    tasks = owner.get("dashboard_overview").context["onboarding"].tasks
    [task] = [one for one in tasks if "test checkout" in one.label]
    in_test = make_desk(owner.merchant, Role.ADMIN, Mode.TEST)
    assert task.url == in_test.url("dashboard_new_checkout")
