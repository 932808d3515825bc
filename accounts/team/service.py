"""Changes of a merchant's team.

A change locks all of the team's memberships. So if two owners remove each other at once, the second removal fails,
because its actor is no longer an owner.
"""

from datetime import datetime
from typing import Final

from django.db import transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.errors import TeamError
from accounts.models import Membership, Merchant, User
from accounts.states import Role
from accounts.team.invitations import withdraw_all_of
from accounts.team.owners import tell_of_owners
from accounts.team.permissions import Act, may

_LAST_OWNER: Final = "A merchant needs an owner. Make another member an owner first."
_GONE: Final = "This person is no longer in the team."
_NOT_ALLOWED: Final = "You no longer have permission to change this team."


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
        what = "becomes an owner" if role == Role.OWNER else "is no longer an owner"
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
        what = "is no longer an owner"
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
