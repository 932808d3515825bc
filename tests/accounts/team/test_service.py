"""Teams and invitations: the last owner stays, links work once, and two at once cannot both succeed."""

import threading
from collections import defaultdict
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from django.core import mail

from accounts.audit.actors import Actor
from accounts.errors import InvitationError, TeamError
from accounts.merchants.service import close_account
from accounts.models import AuditEntry, Invitation, Membership, Merchant, User
from accounts.states import Role
from accounts.team import service
from accounts.team.operators import has_factor, operators
from accounts.team.selectors import merchants_of
from accounts.team.service import accept_invitation, change_role, find_invitation, invite, mail_owners, remove_member
from mails.models import OutgoingMail
from mails.outbox import queue_mail
from mails.sender import send_due_mails
from tests.accounts.logins import last_mail, link_in
from tests.concurrency.races import crew
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant, make_user
from tests.gateway.operator.people import make_operator
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.django_db


RACING = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]


def owners(merchant: Merchant) -> int:
    return Membership.objects.filter(merchant=merchant, role=Role.OWNER).count()


def token_of(invitation: Invitation) -> str:
    return link_in(last_mail(invitation.email)).split("/")[-2]


@pytest.mark.django_db
def test_the_last_owner_can_neither_go_nor_be_made_less(merchant: Merchant) -> None:
    owner, admin = make_member(merchant), make_member(merchant, Role.ADMIN)
    for act in (
        partial(remove_member, merchant, member=owner, actor=Actor(owner)),
        partial(change_role, merchant, member=owner, role=Role.ADMIN, actor=Actor(owner)),
    ):
        with pytest.raises(TeamError, match="needs an owner"):
            act(now=NOON)
    change_role(merchant, member=admin, role=Role.OWNER, actor=Actor(owner), now=NOON)
    remove_member(merchant, member=owner, actor=Actor(owner), now=NOON)
    assert owners(merchant) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_who_is_no_owner_changes_no_team_and_may_go(role: Role, merchant: Merchant) -> None:
    owner, other = make_member(merchant), make_member(merchant, role)
    with pytest.raises(TeamError, match="no longer have permission to change"):
        remove_member(merchant, member=owner, actor=Actor(other), now=NOON)
    with pytest.raises(TeamError, match="no longer have permission to change"):
        change_role(merchant, member=other, role=Role.OWNER, actor=Actor(other), now=NOON)
    remove_member(merchant, member=other, actor=Actor(other), now=NOON)
    assert AuditEntry.objects.get().action == "member.left"


@pytest.mark.django_db
def test_changes_are_audited_with_who_from_where_before_and_after(merchant: Merchant) -> None:
    owner, other = make_member(merchant), make_member(merchant, Role.VIEWER)
    change = partial(change_role, merchant, member=other, actor=Actor(owner, address="192.0.2.7"), now=NOON)
    change(role=Role.ADMIN)
    change(role=Role.ADMIN)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.object_id) == (owner, other.public_id)
    assert (entry.before, entry.after) == ({"role": "viewer"}, {"role": "admin"})
    assert (entry.address, entry.created_at) == ("192.0.2.7", NOON)


class TestRaces:
    """Two owners, at once."""

    pytestmark = RACING

    def remove_each_other(self, merchant: Merchant) -> list[str]:
        one, two = make_member(merchant), make_member(merchant)

        def remove(actor: User, member: User) -> str:
            try:
                remove_member(merchant, member=member, actor=Actor(actor), now=NOON)
            except TeamError as error:
                return error.message
            return "done"

        with crew() as threads:
            return threads.together(partial(remove, one, two), partial(remove, two, one))

    def test_of_two_owners_who_remove_each_other_one_stays(self, merchant: Merchant) -> None:
        for _ in range(5):
            Membership.objects.all().delete()
            answers = self.remove_each_other(merchant)
            assert answers.count("done") == 1
            assert "You no longer have permission to change this team." in answers
            assert owners(merchant) == 1

    def test_without_the_lock_both_go(self, merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
        """The control: the same, where each looks at the team before the other has changed it."""
        both = threading.Barrier(2)

        def read_team(merchant: Merchant) -> list[Membership]:
            seats = list(Membership.objects.filter(merchant=merchant).order_by("pk"))
            both.wait(PATIENCE_SECONDS)
            return seats

        monkeypatch.setattr(service, "_lock_team", read_team)
        assert self.remove_each_other(merchant) == ["done", "done"]
        assert owners(merchant) == 0

    def test_of_two_who_accept_at_once_one_gets_the_place(self, merchant: Merchant) -> None:
        owner, guest = make_member(merchant), make_user("new@example.test")
        offer = invite(merchant, email=guest.email, role=Role.VIEWER, actor=Actor(owner), now=NOON)

        def accept() -> str:
            try:
                accept_invitation(offer, actor=Actor(guest), now=NOON)
            except InvitationError:
                return "over"
            return "in"

        with crew() as threads:
            assert sorted(threads.together(*[accept] * 4)) == ["in", *["over"] * 3]
        assert Membership.objects.filter(user=guest).count() == 1

    def invite_while_removed(self, merchant: Merchant) -> int:
        """How many offers of a removed owner are open after they invited somebody as they were removed."""
        stays, goes = make_member(merchant), make_member(merchant)

        def offer() -> None:
            with suppress(TeamError):
                invite(merchant, email="back@example.test", role=Role.OWNER, actor=Actor(goes), now=NOON)

        with crew() as threads:
            threads.together(offer, partial(remove_member, merchant, member=goes, actor=Actor(stays), now=NOON))
        return Invitation.objects.filter(invited_by=goes, ended_at=None).count()

    def test_who_invites_while_removed_has_no_way_back(self, merchant: Merchant) -> None:
        assert [self.invite_while_removed(merchant) for _ in range(5)] == [0] * 5

    def test_without_the_lock_on_their_place_they_have_one(
        self, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The control: who looked before the owner went writes the offer afterwards."""

        def look(merchant: Merchant, actor: Actor) -> None:
            seat = Membership.objects.filter(merchant=merchant, user=actor.person)
            wait_until(lambda: not seat.exists())

        monkeypatch.setattr(service, "_check_may_invite", look)
        assert self.invite_while_removed(merchant) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER, None])
def test_nobody_invites_who_is_no_owner_any_more(role: Role | None, merchant: Merchant) -> None:
    owner, other = make_member(merchant), make_member(merchant)
    if role:
        change_role(merchant, member=other, role=role, actor=Actor(owner), now=NOON)
    else:
        remove_member(merchant, member=other, actor=Actor(owner), now=NOON)
    with pytest.raises(TeamError, match="no longer have permission to change"):
        invite(merchant, email="x@example.test", role=Role.OWNER, actor=Actor(other), now=NOON)


def test_nobody_comes_by_the_offer_of_a_person_who_was_deactivated(offer: Invitation) -> None:
    token = token_of(offer)
    User.objects.update(is_active=False)
    with pytest.raises(InvitationError):
        find_invitation(token, now=NOON)
    # Nobody is left to ask about one who was deleted.
    Invitation.objects.update(invited_by=None)
    assert find_invitation(token, now=NOON) == offer


@pytest.mark.django_db
def test_every_owner_is_told_of_owners_who_come_and_go(merchant: Merchant) -> None:
    thief, owner = make_member(merchant), make_member(merchant)
    other = make_member(merchant, Role.VIEWER)
    for role in (Role.ADMIN, Role.OWNER, Role.VIEWER):
        change_role(merchant, member=other, role=role, actor=Actor(thief), now=NOON)
    for member in (other, owner):
        remove_member(merchant, member=member, actor=Actor(thief), now=NOON)
    mails = OutgoingMail.objects.filter(recipient=owner.email).order_by("pk")
    texts = [mail.text.split(".\n")[0] for mail in mails]
    by = f"of {merchant.name}. {thief.email} made this change"
    assert texts == [
        f"{other.email} becomes an owner {by}",
        f"{other.email} is no longer an owner {by}",
        f"{owner.email} is no longer an owner {by}",
    ]


@pytest.mark.django_db
def test_owners_are_told_of_one_who_accepts(merchant: Merchant) -> None:
    owner, guest = make_member(merchant), make_user("new@example.test")
    offer = invite(merchant, email=guest.email, role=Role.OWNER, actor=Actor(owner), now=NOON)
    accept_invitation(offer, actor=Actor(guest), now=NOON)
    assert "becomes an owner" in last_mail(owner.email).text


# Which merchants a person sees first.


def test_a_person_of_two_merchants_comes_first_to_the_open_one() -> None:
    closed, open_one = make_merchant("A"), make_merchant("B")
    owner = make_member(closed)
    Membership.objects.create(merchant=open_one, user=owner, role=Role.VIEWER)
    assert merchants_of(owner) == [closed, open_one]
    close_account(closed, actor=Actor(owner), now=NOON)
    assert merchants_of(owner) == [open_one, closed]


# Reaching the people who own a merchant.


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


def mailed_after_the_team_changed(merchant: Merchant) -> tuple[dict[str, User], dict[str, set[str]]]:
    """An owner who stays and three who are none any more, and who got the mails of each subject that waited meanwhile."""
    people = {name: make_member(merchant) for name in ("stays", "removed", "made less", "switched off")}
    Membership.objects.create(merchant=make_merchant(), user=people["removed"], role=Role.OWNER)
    mail_owners(merchant.pk, key="alarm:1", subject="An alarm", text="It rang.", now=NOON)
    owner = Actor(people["stays"])
    remove_member(merchant, member=people["removed"], actor=owner, now=NOON)
    change_role(merchant, member=people["made less"], role=Role.ADMIN, actor=owner, now=NOON)
    User.objects.filter(pk=people["switched off"].pk).update(is_active=False)
    send_due_mails(now=NOON)
    readers: dict[str, set[str]] = defaultdict(set)
    for sent in mail.outbox:
        readers[str(sent.subject)] |= set(sent.to)
    return people, readers


def test_who_is_no_owner_any_more_gets_no_mail_that_waited_and_learns_of_the_change(merchant: Merchant) -> None:
    people, readers = mailed_after_the_team_changed(merchant)
    assert readers["An alarm"] == {people["stays"].email}
    assert {people["removed"].email, people["made less"].email} < readers[f"The owners of {merchant.name} change"]


def test_without_the_look_at_the_team_they_would_get_it(merchant: Merchant, settings: Any) -> None:
    settings.MAIL_READERS = f"{__name__}.everybody_reads"
    people, readers = mailed_after_the_team_changed(merchant)
    assert readers["An alarm"] == {one.email for one in people.values()}


def everybody_reads(key: str) -> bool:
    return bool(key)


def test_what_the_release_before_queued_is_not_queued_again(merchant: Merchant) -> None:
    owner = make_member(merchant)
    queue_mail(key=f"alarm:1:{owner.public_id}", recipient=owner.email, subject="An alarm", text="It rang.", now=NOON)
    assert mail_owners(merchant.pk, key="alarm:1", subject="An alarm", text="It rang.", now=NOON) == 0
    send_due_mails(now=NOON)
    assert [sent.to for sent in mail.outbox] == [[owner.email]]


# Who the operators are.


def test_operators_are_the_staff_that_may_log_in_oldest_first() -> None:
    first, second, gone = make_operator(), make_operator(), make_operator()
    gone.is_active = False
    gone.save()
    make_user()
    assert list(operators()) == [first, second]


def test_a_second_factor_is_an_app_or_a_key_and_a_password_is_none() -> None:
    assert has_factor(make_operator())
    assert not has_factor(make_user())
