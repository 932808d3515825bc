"""Invitations to teams by mail. The link works once, for seven days, and for one address."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import QuerySet

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.errors import InvitationError, TeamError
from accounts.models import Invitation, Membership, Merchant, User
from accounts.states import Role
from accounts.team.owners import tell_of_owners
from accounts.team.permissions import Act, may
from mails.outbox import queue_mail

LASTS: Final = timedelta(days=7)
# More open invitations than any team needs; each is a mail to a stranger.
MOST_OPEN: Final = 50
# An invitation that replaces another is a mail too: limits per person and day, in all and to one address.
MOST_A_DAY: Final = 100
MOST_TO_ONE: Final = 5
_DAY: Final = timedelta(days=1)
_SALT: Final = "accounts.invitation"
_OVER: Final = "This invitation has ended. Ask for a new one."
_NOT_YOURS: Final = "This invitation is for another e-mail address."
_NOT_ALLOWED: Final = "You no longer have permission to change this team."


@transaction.atomic
def invite(merchant: Merchant, *, email: str, role: Role, actor: Actor, now: datetime) -> Invitation:
    """Invite an address by mail; an open invitation to it ends.

    Raises TeamError for a member, for too many invitations, and if `actor` may not invite (any more).
    """
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    _check_allowed(merchant, actor)
    _check_patience(actor, email, now)
    if Membership.objects.filter(merchant=merchant, user__email__iexact=email).exists():
        raise TeamError(f"{email} is already in the team.")
    _open_ones(merchant).filter(email__iexact=email).update(ended_at=now)
    if _open_ones(merchant).filter(expires_at__gt=now).count() >= MOST_OPEN:
        raise TeamError("There are too many open invitations. Withdraw some first.")
    secret = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        merchant=merchant,
        email=email,
        role=role,
        digest=_digest_of(secret),
        invited_by=actor.person,
        created_at=now,
        expires_at=now + LASTS,
    )
    _mail(invitation, secret, now)
    _record(invitation, "invitation.sent", actor, now)
    return invitation


@transaction.atomic
def withdraw_invitation(invitation: Invitation, *, actor: Actor, now: datetime) -> None:
    """Withdraw an invitation. Withdrawing an ended one changes nothing."""
    if _end(invitation, now):
        _record(invitation, "invitation.withdrawn", actor, now)


@transaction.atomic
def accept_invitation(invitation: Invitation, *, actor: Actor, now: datetime) -> Merchant:
    """Accept an invitation. Raises InvitationError if it has ended or was made to another address."""
    user = actor.person
    if invitation.email.lower() != user.email.lower():
        raise InvitationError(_NOT_YOURS)
    if invitation.expires_at <= now or not _end(invitation, now):
        raise InvitationError(_OVER)
    _, is_new = Membership.objects.get_or_create(
        merchant=invitation.merchant, user=user, defaults={"role": invitation.role, "created_at": now}
    )
    if is_new:
        _record(invitation, "invitation.accepted", actor, now)
        if invitation.role == Role.OWNER:
            tell_of_owners(
                invitation.merchant, "becomes an owner", about=user, actor=Actor(invitation.invited_by or user), now=now
            )
    return invitation.merchant


def withdraw_all_of(merchant: Merchant, inviter: User, *, actor: Actor, now: datetime) -> None:
    """Withdraw all invitations by a person who lost the permission, so that they cannot return with another address."""
    for invitation in _open_ones(merchant).filter(invited_by=inviter).order_by("pk"):
        withdraw_invitation(invitation, actor=actor, now=now)


def find_invitation(token: str, *, now: datetime) -> Invitation:
    """Return a link's open invitation, with its merchant. Raises InvitationError."""
    try:
        secret = Signer(salt=_SALT).unsign(token)
    except BadSignature as error:
        raise InvitationError(_OVER) from error
    open_ones = Invitation.objects.select_related("merchant", "invited_by")
    named = open_ones.filter(digest=_digest_of(secret), ended_at=None, expires_at__gt=now)
    # A deactivated person must not return with an invitation that they prepared.
    invitation = named.exclude(invited_by__is_active=False).first()
    if invitation is None:
        raise InvitationError(_OVER)
    return invitation


def _open_ones(merchant: Merchant) -> QuerySet[Invitation]:
    return Invitation.objects.filter(merchant=merchant, ended_at=None)


def _end(invitation: Invitation, now: datetime) -> bool:
    """End an invitation; only the first caller succeeds."""
    changed = Invitation.objects.filter(pk=invitation.pk, ended_at=None)
    return bool(changed.update(ended_at=now))


def _check_allowed(merchant: Merchant, actor: Actor) -> None:
    """Check that the actor may invite. Locks the actor's membership, so that a concurrent removal is seen."""
    seats = Membership.objects.select_for_update().filter(merchant=merchant)
    seat = seats.filter(user=actor.person).first()
    if seat is None or not may(Role(seat.role), Act.MANAGE_TEAM):
        raise TeamError(_NOT_ALLOWED)


def _check_patience(actor: Actor, email: str, now: datetime) -> None:
    sent = Invitation.objects.filter(invited_by=actor.person, created_at__gt=now - _DAY)
    to_one = sent.filter(email__iexact=email).count()
    if to_one >= MOST_TO_ONE or sent.count() >= MOST_A_DAY:
        raise TeamError("You have reached today's limit of invitations. Try again tomorrow.")


def _digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _mail(invitation: Invitation, secret: str, now: datetime) -> None:
    token = Signer(salt=_SALT).sign(secret)
    inviter = invitation.invited_by
    words = (
        f"{inviter.name or inviter.email if inviter else 'A team member'} invites you to the team of"
        f" {invitation.merchant.name} on Florin, as {Role(invitation.role).label.lower()}.\n\n"
        f"Accept within seven days:\n{settings.BASE_URL}/account/invitation/{token}/\n\n"
        "If you do not know them, ignore this mail: nothing happens without you."
    )
    queue_mail(
        key=f"invitation:{invitation.public_id}",
        recipient=invitation.email,
        subject=f"Join {invitation.merchant.name} on Florin",
        text=words,
        now=now,
    )


def _record(invitation: Invitation, action: str, actor: Actor, now: datetime) -> None:
    record(
        invitation.merchant,
        action=action,
        actor=actor,
        object_id=invitation.public_id,
        after={"email": invitation.email, "role": invitation.role},
        now=now,
    )
