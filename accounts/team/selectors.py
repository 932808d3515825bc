"""Queries of people and teams."""

from datetime import datetime

from django.db.models import Count, F, Q, QuerySet

from accounts.models import ApiKey, Invitation, Membership, Merchant, User
from accounts.states import Mode, Role


def team_of(merchant: Merchant) -> list[Membership]:
    """Return the members with their people, owners first, each role by name."""
    order = {"owner": 0, "admin": 1, "viewer": 2}
    members = Membership.objects.filter(merchant=merchant).select_related("user")
    return sorted(members, key=lambda seat: (order[seat.role], seat.user.name or seat.user.email))


def open_invitations(merchant: Merchant, *, now: datetime) -> list[Invitation]:
    """Return open invitations, newest first."""
    waiting = Invitation.objects.filter(merchant=merchant, ended_at=None, expires_at__gt=now)
    return list(waiting.order_by("-created_at", "-pk"))


def merchants_of(user: User) -> list[Merchant]:
    """Return a person's merchants by name, closed ones last."""
    mine = Merchant.objects.filter(memberships__user=user)
    return list(mine.order_by(F("closed_at").asc(nulls_first=True), "name", "pk"))


def merchants_of_its_owners(merchant_id: int) -> list[int]:
    """Return the keys of the other merchants that have the same owners as this one, and no other."""
    seats = Membership.objects.filter(role=Role.OWNER)
    owners = list(seats.filter(merchant=merchant_id).values_list("user", flat=True))
    theirs = seats.filter(merchant__in=seats.filter(user__in=owners).values("merchant")).exclude(merchant=merchant_id)
    counted = theirs.values("merchant").annotate(all=Count("pk"), shared=Count("pk", filter=Q(user__in=owners)))
    same = counted.filter(all=len(owners), shared=len(owners)).order_by("merchant")
    return list(same.values_list("merchant", flat=True))


def keys_of(merchant: Merchant, *, mode: Mode) -> QuerySet[ApiKey]:
    """Return the keys of a mode: active ones first, then revoked ones, each newest first."""
    keys = ApiKey.objects.filter(merchant=merchant, mode=mode).select_related(
        "merchant", "created_by", "replaced_by", "replaces"
    )
    return keys.order_by(F("revoked_at").desc(nulls_first=True), "-pk")
