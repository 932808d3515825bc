"""Invitations: links that work once, for one address."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError

from accounts.audit.actors import Actor
from accounts.errors import InvitationError, TeamError
from accounts.models import AuditEntry, Invitation, Membership, Merchant
from accounts.states import Role
from accounts.team.service import (
    INVITATION_LASTS,
    MOST_INVITATIONS_TO_ONE,
    MOST_INVITED_A_DAY,
    accept_invitation,
    change_role,
    find_invitation,
    invite,
    remove_member,
    withdraw_invitation,
)
from tests.accounts.logins import last_mail, link_in
from tests.dashboard.people import make_member
from tests.factories import NOON, make_user


def token_of(invitation: Invitation) -> str:
    return link_in(last_mail(invitation.email)).split("/")[-2]


def test_an_invitation_names_its_secret_nowhere(offer: Invitation) -> None:
    token = token_of(offer)
    assert find_invitation(token, now=NOON) == offer
    assert token.split(":")[0].encode() not in bytes(offer.digest)
    assert token not in str(AuditEntry.objects.values_list())


def test_an_invitation_ends_when_it_is_accepted_withdrawn_replaced_or_old(
    offer: Invitation, merchant: Merchant
) -> None:
    token, owner = token_of(offer), Membership.objects.get().user
    with pytest.raises(InvitationError):
        find_invitation(token, now=NOON + INVITATION_LASTS)
    again = invite(merchant, email="NEW@example.test", role=Role.ADMIN, actor=Actor(owner), now=NOON)
    with pytest.raises(InvitationError):
        find_invitation(token, now=NOON)
    withdraw_invitation(again, actor=Actor(owner), now=NOON)
    with pytest.raises(InvitationError):
        find_invitation(token_of(again), now=NOON)


def test_an_invitation_is_for_one_address_and_works_once(offer: Invitation, merchant: Merchant) -> None:
    guest, thief = make_user("New@example.test"), make_user("thief@example.test")
    with pytest.raises(InvitationError, match="another e-mail address"):
        accept_invitation(offer, actor=Actor(thief), now=NOON)
    with pytest.raises(InvitationError, match="has ended"):
        accept_invitation(offer, actor=Actor(guest), now=NOON + timedelta(days=8))
    accept_invitation(offer, actor=Actor(guest), now=NOON)
    with pytest.raises(InvitationError, match="has ended"):
        accept_invitation(offer, actor=Actor(guest), now=NOON)
    assert Membership.objects.get(user=guest).role == Role.VIEWER


@pytest.mark.parametrize("token", ["", "x", "x:y", "a" * 300])
def test_a_link_we_did_not_sign_is_none(token: str, db: Any) -> None:
    with pytest.raises(InvitationError):
        find_invitation(token, now=NOON)


def test_members_are_not_invited_and_one_address_has_one_open_invitation(offer: Invitation, merchant: Merchant) -> None:
    owner = Membership.objects.get().user
    with pytest.raises(TeamError, match="already in the team"):
        invite(merchant, email=owner.email.upper(), role=Role.VIEWER, actor=Actor(owner), now=NOON)
    twin = Invitation(merchant=merchant, email=offer.email.upper(), role=Role.VIEWER, digest=b"x", expires_at=NOON)
    with pytest.raises(IntegrityError):
        twin.save()


@pytest.mark.django_db
def test_with_an_owner_their_open_invitations_go(merchant: Merchant) -> None:
    stays, goes = make_member(merchant), make_member(merchant)
    offered = partial(invite, merchant, role=Role.OWNER, now=NOON)
    kept = offered(email="kept@example.test", actor=Actor(stays))
    for number, act in enumerate(
        (
            partial(change_role, merchant, member=goes, role=Role.ADMIN, actor=Actor(stays)),
            partial(remove_member, merchant, member=goes, actor=Actor(stays)),
        )
    ):
        Membership.objects.filter(user=goes).update(role=Role.OWNER)
        back = offered(email=f"back{number}@example.test", actor=Actor(goes))
        act(now=NOON)
        back.refresh_from_db()
        assert back.ended_at == NOON
    kept.refresh_from_db()
    assert kept.ended_at is None
    taken_back = AuditEntry.objects.filter(action="invitation.withdrawn")
    assert [entry.actor for entry in taken_back] == [stays, stays]


@pytest.mark.django_db
def test_nobody_is_flooded_with_invitations(merchant: Merchant) -> None:
    owner = make_member(merchant)
    send = partial(invite, merchant, role=Role.VIEWER, actor=Actor(owner))
    for _ in range(MOST_INVITATIONS_TO_ONE):
        send(email="new@example.test", now=NOON)
    with pytest.raises(TeamError, match="limit of invitations"):
        send(email="NEW@example.test", now=NOON + timedelta(hours=23))
    send(email="other@example.test", now=NOON)
    send(email="new@example.test", now=NOON + timedelta(days=1))


@pytest.mark.django_db
def test_an_owner_sends_a_hundred_invitations_a_day(merchant: Merchant) -> None:
    owner = make_member(merchant)
    sent = Invitation(merchant=merchant, role=Role.VIEWER, invited_by=owner)
    for number in range(MOST_INVITED_A_DAY):
        sent.pk, sent.public_id, sent.digest = None, f"inv_{number}", bytes([number])
        sent.email = f"{number}@example.test"
        sent.created_at = sent.ended_at = sent.expires_at = NOON
        sent.save()
    with pytest.raises(TeamError, match="limit of invitations"):
        invite(merchant, email="x@example.test", role=Role.VIEWER, actor=Actor(owner), now=NOON)
