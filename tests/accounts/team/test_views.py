"""The team's page: who sees what, and changes that owners make."""

import pytest

from accounts.dashboard.pages import MerchantForm
from accounts.models import AuditEntry, Invitation, Membership, Merchant
from accounts.states import Role
from mails.models import OutgoingMail
from tests.dashboard.people import PASSWORD, Desk, make_desk

pytestmark = pytest.mark.django_db


def test_an_owner_sees_the_members_and_may_invite(owner: Desk, viewer: Desk) -> None:
    page = owner.get("dashboard_team")
    assert page.status_code == 200
    assert viewer.user.email in page.text
    assert "Send invitation" in page.text


def test_a_viewer_sees_the_members_and_no_controls(owner: Desk, viewer: Desk) -> None:
    page = viewer.get("dashboard_team")
    assert owner.user.email in page.text
    assert "Send invitation" not in page.text
    assert "Remove" not in page.text


def test_an_invitation_is_mailed_and_audited(owner: Desk) -> None:
    answer = owner.post("dashboard_invite", {"email": "new@example.test", "role": "admin"})
    assert answer.status_code == 302
    invitation = Invitation.objects.get()
    mail = OutgoingMail.objects.get()
    assert mail.recipient == "new@example.test"
    assert "/account/invitation/" in mail.text
    assert invitation.role == Role.ADMIN
    entry = AuditEntry.objects.get(action="invitation.sent")
    assert (entry.actor, entry.address) == (owner.user, "127.0.0.1")


def test_the_last_owner_cannot_leave(owner: Desk, admin: Desk) -> None:
    owner.post("dashboard_leave")
    assert Membership.objects.filter(user=owner.user).exists()
    assert "needs an owner" in owner.get("dashboard_team").text


def test_a_form_that_needs_proof_is_sent_on_after_the_password(merchant: Merchant) -> None:
    desk = make_desk(merchant, fresh=False)
    form = {"email": "new@example.test", "role": "viewer"}
    asked = desk.post("dashboard_invite", form)
    assert not Invitation.objects.exists()
    answer = desk.client.post(asked["Location"], {"password": "wrong"})
    assert not Invitation.objects.exists()
    answer = desk.client.post(asked["Location"], {"password": PASSWORD})
    assert answer["Location"] == desk.url("dashboard_team")
    assert Invitation.objects.get().email == "new@example.test"


def test_a_member_gets_another_role(owner: Desk, viewer: Desk) -> None:
    owner.post("dashboard_set_role", {"role": "admin"}, user_id=viewer.user.public_id)
    assert Membership.objects.get(user=viewer.user).role == Role.ADMIN


@pytest.mark.parametrize("form", [{}, {"role": ""}, {"role": "god"}])
def test_a_role_that_does_not_exist_is_not_given(form: dict[str, str], owner: Desk, viewer: Desk) -> None:
    answer = owner.post("dashboard_set_role", form, user_id=viewer.user.public_id)
    assert answer.status_code == 404
    assert Membership.objects.get(user=viewer.user).role == Role.VIEWER


def test_a_removed_member_is_gone(owner: Desk, viewer: Desk) -> None:
    owner.post("dashboard_remove_member", user_id=viewer.user.public_id)
    assert viewer.get("dashboard_team").status_code == 404


def test_an_invitation_is_withdrawn(owner: Desk) -> None:
    owner.post("dashboard_invite", {"email": "a@example.test", "role": "viewer"})
    owner.post("dashboard_withdraw_invitation", invitation_id=Invitation.objects.get().public_id)
    assert Invitation.objects.get().ended_at is not None


@pytest.mark.parametrize(
    ("email", "role", "status"),
    [
        ("", "viewer", 422),
        ("nonsense", "viewer", 422),
        ("a@example.test", "god", 422),
        ("a@example.test\nBcc: b@example.test", "viewer", 422),
    ],
)
def test_an_invitation_that_makes_no_sense_is_not_sent(email: str, role: str, status: int, owner: Desk) -> None:
    answer = owner.post("dashboard_invite", {"email": email, "role": role})
    assert answer.status_code == status
    assert not Invitation.objects.exists()


def test_who_is_a_member_is_not_invited_again(owner: Desk, viewer: Desk) -> None:
    form = {"email": viewer.user.email, "role": "owner"}
    answer = owner.post("dashboard_invite", form)
    assert answer.status_code == 409
    assert "already in the team" in answer.text


# What a business may be called.


@pytest.mark.parametrize("name", ["Halden\u202esretsaoR", "Hal\nden", "Hal\u200bden", "\u2066Halden", "Hal\x7f"])
def test_no_business_has_a_name_that_hides_something_from_its_buyers(name: str) -> None:
    assert not MerchantForm({"name": name}).is_valid()


@pytest.mark.parametrize("name", ["Halden Roasters", "क्‍षेत्र", "می‌خواهم", "متجر هالدن", "株式会社"])
def test_a_business_has_a_name_in_any_script(name: str) -> None:
    form = MerchantForm({"name": f" {name} "})
    assert form.is_valid()
    assert form.cleaned_data["name"] == name
