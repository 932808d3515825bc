"""Creates, activates and deactivates people, and appoints operators. Their address needs no verification."""

from datetime import datetime

from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.db import transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import User


@transaction.atomic
def create_person(email: str, password: str | None, *, name: str = "") -> User:
    """Create a person whose e-mail address counts as verified."""
    user = User.objects.create_user(email, password, name=name)
    vouch_for(user)
    return user


def vouch_for(user: User) -> None:
    """Mark the person's login address as verified. Idempotent."""
    EmailAddress.objects.update_or_create(user=user, email=user.email, defaults={"verified": True, "primary": True})


@transaction.atomic
def set_active(user_id: int, *, is_active: bool, actor: Actor, now: datetime) -> bool:
    """Activate or deactivate a person; return whether that changed anything. Deactivation logs out everywhere."""
    user = User.objects.select_for_update().get(pk=user_id)
    if user.is_active == is_active:
        return False
    user.is_active = is_active
    user.save(update_fields=["is_active"])
    if not is_active:
        for session in UserSession.objects.filter(user=user):
            session.end()
    record(
        None,
        action="person.reactivated" if is_active else "person.deactivated",
        actor=actor,
        object_id=user.public_id,
        now=now,
    )
    return True


@transaction.atomic
def set_operator(email: str, *, is_operator: bool, now: datetime, actor: Actor) -> bool:
    """Grant or revoke access to the operator's pages; return whether that changed anything.

    Raises User.DoesNotExist.
    """
    user = User.objects.select_for_update().get(email__iexact=email)
    if user.is_staff == is_operator:
        return False
    user.is_staff = is_operator
    user.save(update_fields=["is_staff"])
    record(
        None,
        action="operator.appointed" if is_operator else "operator.dismissed",
        actor=actor,
        object_id=user.public_id,
        now=now,
    )
    return True
