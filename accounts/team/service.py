"""Changes of a merchant's team: its members, its invitations, and mails to its owners.

A change locks all of the team's memberships. So if two owners remove each other at once, the second removal fails,
because its actor is no longer an owner. An invitation's link works once, for seven days, and for one address.
"""

import hashlib
import re
import secrets
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Concat
from django.utils import translation
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.errors import InvitationError, TeamError
from accounts.models import Invitation, Membership, Merchant, User
from accounts.states import Role
from accounts.team.permissions import Act, may
from gateway.core.ids import new_code
from gateway.core.texts import Lazy, Spoken
from gateway.core.web.login_languages import mail_language
from mails.models import OutgoingMail
from mails.outbox import queue_mail

_LAST_OWNER: Final = gettext_noop("A merchant needs an owner. Make another member an owner first.")
_GONE: Final = gettext_noop("This person is no longer in the team.")
_NOT_ALLOWED: Final = gettext_noop("You no longer have permission to change this team.")

INVITATION_LASTS: Final = timedelta(days=7)
# More open invitations than any team needs; each is a mail to a stranger.
MOST_OPEN_INVITATIONS: Final = 50
# An invitation that replaces another is a mail too: limits per person and day, in all and to one address.
MOST_INVITED_A_DAY: Final = 100
MOST_INVITATIONS_TO_ONE: Final = 5
_DAY: Final = timedelta(days=1)
_INVITATION_SALT: Final = "accounts.invitation"
_TO_OWNER: Final = re.compile(r":(?P<owner>usr_\w+)@(?P<merchant>\d+)\Z", re.ASCII)


@transaction.atomic
def change_role(merchant: Merchant, *, member: User, role: Role, actor: Actor, now: datetime) -> None:
    """Change a member's role. Raises TeamError for the last owner, and if `actor` may not (any more)."""
    team = _lock_team(merchant)
    _check_allowed(team, actor)
    membership = _seat_of(team, member)
    before = membership.role
    if before == role:
        return
    _keep_an_owner(team, membership, role)
    if Role.OWNER in {before, role}:
        what = _OWNER_CAME if role == Role.OWNER else _OWNER_WENT
        tell_of_owners(merchant, what, about=member, actor=actor, now=now)
    membership.role = role
    membership.save(update_fields=["role"])
    if not may(role, Act.MANAGE_TEAM):
        withdraw_all_of(merchant, member, actor=actor, now=now)
    record(
        merchant,
        action="member.role_changed",
        actor=actor,
        object_id=member.public_id,
        before={"role": before},
        after={"role": role},
        now=now,
    )


@transaction.atomic
def remove_member(merchant: Merchant, *, member: User, actor: Actor, now: datetime) -> None:
    """Remove a member from the team; every member may leave. Raises TeamError as `change_role` does."""
    team = _lock_team(merchant)
    if actor.user != member:
        _check_allowed(team, actor)
    membership = _seat_of(team, member)
    _keep_an_owner(team, membership, None)
    if membership.role == Role.OWNER:
        what = _OWNER_WENT
        tell_of_owners(merchant, what, about=member, actor=actor, now=now)
    membership.delete()
    withdraw_all_of(merchant, member, actor=actor, now=now)
    record(
        merchant,
        action="member.left" if actor.user == member else "member.removed",
        actor=actor,
        object_id=member.public_id,
        before={"role": membership.role, "email": member.email},
        now=now,
    )


def _lock_team(merchant: Merchant) -> list[Membership]:
    """Lock all memberships of a merchant, in one order."""
    team = Membership.objects.select_for_update().filter(merchant=merchant)
    return list(team.order_by("pk"))


def _check_allowed(team: list[Membership], actor: Actor) -> None:
    roles = [Role(seat.role) for seat in team if seat.user_id == actor.person.pk]
    if not roles or not may(roles[0], Act.MANAGE_TEAM):
        raise TeamError(_NOT_ALLOWED)


def _seat_of(team: list[Membership], member: User) -> Membership:
    for seat in team:
        if seat.user_id == member.pk:
            return seat
    raise TeamError(_GONE)


def _keep_an_owner(team: list[Membership], seat: Membership, role: Role | None) -> None:
    others = [other for other in team if other != seat]
    if role != Role.OWNER and not any(other.role == Role.OWNER for other in others):
        raise TeamError(_LAST_OWNER)


@transaction.atomic
def invite(merchant: Merchant, *, email: str, role: Role, actor: Actor, now: datetime) -> Invitation:
    """Invite an address by mail; an open invitation to it ends.

    Raises TeamError for a member, for too many invitations, and if `actor` may not invite (any more).
    """
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    _check_may_invite(merchant, actor)
    _check_patience(actor, email, now)
    if Membership.objects.filter(merchant=merchant, user__email__iexact=email).exists():
        raise TeamError(gettext_noop("{email} is already in the team."), values={"email": email})
    _open_invitations(merchant).filter(email__iexact=email).update(ended_at=now)
    if _open_invitations(merchant).filter(expires_at__gt=now).count() >= MOST_OPEN_INVITATIONS:
        raise TeamError(gettext_noop("There are too many open invitations. Withdraw some first."))
    secret = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        merchant=merchant,
        email=email,
        role=role,
        digest=_digest_of(secret),
        invited_by=actor.person,
        created_at=now,
        expires_at=now + INVITATION_LASTS,
    )
    _mail_invitation(invitation, secret, now)
    _record_invitation(invitation, "invitation.sent", actor, now)
    return invitation


@transaction.atomic
def withdraw_invitation(invitation: Invitation, *, actor: Actor, now: datetime) -> None:
    """Withdraw an invitation. Withdrawing an ended one changes nothing."""
    if _end_invitation(invitation, now):
        _record_invitation(invitation, "invitation.withdrawn", actor, now)


@transaction.atomic
def accept_invitation(invitation: Invitation, *, actor: Actor, now: datetime) -> Merchant:
    """Accept an invitation. Raises InvitationError if it has ended or was made to another address."""
    user = actor.person
    if invitation.email.lower() != user.email.lower():
        raise InvitationError(InvitationError.NOT_YOURS)
    if invitation.expires_at <= now or not _end_invitation(invitation, now):
        raise InvitationError(InvitationError.OVER)
    _, is_new = Membership.objects.get_or_create(
        merchant=invitation.merchant, user=user, defaults={"role": invitation.role, "created_at": now}
    )
    if is_new:
        _record_invitation(invitation, "invitation.accepted", actor, now)
        if invitation.role == Role.OWNER:
            tell_of_owners(
                invitation.merchant, _OWNER_CAME, about=user, actor=Actor(invitation.invited_by or user), now=now
            )
    return invitation.merchant


def withdraw_all_of(merchant: Merchant, inviter: User, *, actor: Actor, now: datetime) -> None:
    """Withdraw all invitations by a person who lost the permission, so that they cannot return with another address."""
    for invitation in _open_invitations(merchant).filter(invited_by=inviter).order_by("pk"):
        withdraw_invitation(invitation, actor=actor, now=now)


def find_invitation(token: str, *, now: datetime) -> Invitation:
    """Return a link's open invitation, with its merchant. Raises InvitationError."""
    try:
        secret = Signer(salt=_INVITATION_SALT).unsign(token)
    except BadSignature as error:
        raise InvitationError(InvitationError.OVER) from error
    open_ones = Invitation.objects.select_related("merchant", "invited_by")
    named = open_ones.filter(digest=_digest_of(secret), ended_at=None, expires_at__gt=now)
    # A deactivated person must not return with an invitation that they prepared.
    invitation = named.exclude(invited_by__is_active=False).first()
    if invitation is None:
        raise InvitationError(InvitationError.OVER)
    return invitation


def _open_invitations(merchant: Merchant) -> QuerySet[Invitation]:
    return Invitation.objects.filter(merchant=merchant, ended_at=None)


def _end_invitation(invitation: Invitation, now: datetime) -> bool:
    """End an invitation; only the first caller succeeds."""
    changed = Invitation.objects.filter(pk=invitation.pk, ended_at=None)
    return bool(changed.update(ended_at=now))


def _check_may_invite(merchant: Merchant, actor: Actor) -> None:
    """Check that the actor may invite. Locks the actor's membership, so that a concurrent removal is seen."""
    seats = Membership.objects.select_for_update().filter(merchant=merchant)
    seat = seats.filter(user=actor.person).first()
    if seat is None or not may(Role(seat.role), Act.MANAGE_TEAM):
        raise TeamError(_NOT_ALLOWED)


def _check_patience(actor: Actor, email: str, now: datetime) -> None:
    sent = Invitation.objects.filter(invited_by=actor.person, created_at__gt=now - _DAY)
    to_one = sent.filter(email__iexact=email).count()
    if to_one >= MOST_INVITATIONS_TO_ONE or sent.count() >= MOST_INVITED_A_DAY:
        raise TeamError(gettext_noop("You have reached today's limit of invitations. Try again tomorrow."))


def _digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


_INVITED: Final = gettext_noop("""\
{inviter} invites you to the team of {merchant} on Florin, as {role}.

Accept within seven days:
{url}

If you do not know them, ignore this mail: nothing happens without you.""")
_OWNER_CAME: Final = gettext_lazy("""\
{person} becomes an owner of {merchant}. {actor} made this change.

If you did not expect this, check it now:
{url}""")
_OWNER_WENT: Final = gettext_lazy("""\
{person} is no longer an owner of {merchant}. {actor} made this change.

If you did not expect this, check it now:
{url}""")


def _mail_invitation(invitation: Invitation, secret: str, now: datetime) -> None:
    token = Signer(salt=_INVITATION_SALT).sign(secret)
    inviter = invitation.invited_by
    invited = User.objects.filter(email__iexact=invitation.email).first()
    with translation.override(mail_language(invited.language if invited else "")):
        words = gettext(_INVITED).format(
            inviter=inviter.name or inviter.email if inviter else gettext("A team member"),
            merchant=invitation.merchant.name,
            role=Role(invitation.role).label.lower(),
            url=f"{settings.BASE_URL}/account/invitation/{token}/",
        )
        queue_mail(
            key=f"invitation:{invitation.public_id}",
            recipient=invitation.email,
            subject=gettext("Join {merchant} on Florin").format(merchant=invitation.merchant.name),
            text=words,
            now=now,
        )


def _record_invitation(invitation: Invitation, action: str, actor: Actor, now: datetime) -> None:
    record(
        invitation.merchant,
        action=action,
        actor=actor,
        object_id=invitation.public_id,
        after={"email": invitation.email, "role": invitation.role},
        now=now,
    )


def mail_owners(
    merchant_id: int, *, key: str, subject: Spoken, text: Spoken, now: datetime, also_who_goes: bool = False
) -> int:
    """Queue a mail to each owner in the caller's transaction; return how many were new.

    `key` identifies the subject; each owner's public id and the merchant's key are appended, by which `still_reads` leaves out who is
    no owner any more when it is sent; `also_who_goes` mails them too. Owners do not see each other's addresses. What is lazy is said
    in the language of each owner.
    """
    # What the release before queued ends with the owner.
    known = OutgoingMail.objects.filter(key=Concat(Value(f"{key}:"), OuterRef("public_id")))
    owners = User.objects.filter(
        ~Exists(known), is_active=True, memberships__merchant=merchant_id, memberships__role=Role.OWNER
    ).order_by("pk")
    team = "" if also_who_goes else f"@{merchant_id}"
    queued = 0
    for owner in owners:
        with translation.override(mail_language(owner.language)):
            mail = queue_mail(
                key=f"{key}:{owner.public_id}{team}",
                recipient=owner.email,
                subject=str(subject),
                text=str(text),
                now=now,
            )
        queued += mail is not None
    return queued


def still_reads(key: str) -> bool:
    """Return whether a queued mail's reader may still have it, by its key: of mails to owners, who is one now."""
    found = _TO_OWNER.search(key)
    if found is None:
        return True
    seats = Membership.objects.filter(user__public_id=found["owner"], merchant=int(found["merchant"]))
    return seats.filter(user__is_active=True, role=Role.OWNER).exists()


def tell_of_owners(merchant: Merchant, what: Lazy, *, about: User, actor: Actor, now: datetime) -> None:
    """Mail all current owners about a change of ownership, in the caller's transaction; it reaches the one who goes, too.

    Call it before the change: otherwise a thief could first remove the owners to be notified.
    """
    mail_owners(
        merchant.pk,
        key=f"owners:{new_code()}",
        subject=format_lazy(gettext_lazy("The owners of {merchant} change"), merchant=merchant.name),
        text=format_lazy(
            what, person=about.email, merchant=merchant.name, actor=actor.name, url=f"{settings.BASE_URL}/dashboard/"
        ),
        now=now,
        also_who_goes=True,
    )
