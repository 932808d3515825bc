"""Operators: staff with a second factor that this login used."""

from typing import Final

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.models import User

_FACTORS: Final = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


def operators() -> QuerySet[User]:
    """Return the operators, who also get the installation's mails; oldest first."""
    return User.objects.filter(is_staff=True, is_active=True).order_by("pk")


def is_operator(request: HttpRequest) -> bool:
    """Return whether the person may open the operator's pages, however they logged in."""
    return request.user.is_active and request.user.is_staff


def has_factor(user: User) -> bool:
    """Return whether the person has a second factor."""
    return bool(is_mfa_enabled(user, types=_FACTORS))


def proved_by_factor(request: HttpRequest) -> bool:
    """Return whether this login used a second factor."""
    proofs = get_authentication_records(request, request.user)
    return any(proof["method"] == "mfa" for proof in proofs)
