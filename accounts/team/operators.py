"""Operators: staff with a second factor that this login used, and their impersonation of merchants.

An impersonation is read-only, ends after half an hour, and is recorded in the merchant's audit log. The log is authoritative. The
session only refers to it, so an old copy of a session cannot revive an ended impersonation.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.audit.actors import actor_of
from accounts.audit.service import record
from accounts.models import AuditEntry, Merchant, User
from gateway.core.ids import new_id
from gateway.core.times import iso
from mails.outbox import queue_mail

_FACTORS: Final = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)

IMPERSONATION_LASTS: Final = timedelta(minutes=30)
_LOOKED: Final = "operator.looked"
_STOPPED: Final = "operator.stopped"
# The session's keys for the impersonation and its merchant.
_SESSION_KEY: Final = "operator_look"


def operators() -> QuerySet[User]:
    """Return the operators, who also get the installation's mails; oldest first."""
    return User.objects.filter(is_staff=True, is_active=True).order_by("pk")


def mail_operators(key: str, *, subject: str, text: str, now: datetime) -> None:
    """Queue a mail to each operator in the caller's transaction. `key` identifies the subject: another mail of it is dropped."""
    for operator in operators():
        queue_mail(key=f"{key}:{operator.public_id}", recipient=operator.email, subject=subject, text=text, now=now)


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


@dataclass(frozen=True, slots=True)
class Look:
    """A current impersonation: merchant, reason, and end."""

    public_id: str
    merchant: Merchant
    reason: str
    ends_at: datetime


def begin_look(request: HttpRequest, merchant: Merchant, *, reason: str, now: datetime) -> Look:
    """Start impersonating a merchant. Another impersonation of this session ends.

    `find_look` checks at each request whether the person is an operator; for others it shows nothing.
    """
    end_look(request, now=now)
    look = Look(new_id("look"), merchant, reason, now + IMPERSONATION_LASTS)
    _record(request, look, _LOOKED, now, {"reason": reason, "until": iso(look.ends_at)})
    request.session[_SESSION_KEY] = [look.public_id, merchant.public_id]
    return look


def find_look(request: HttpRequest, *, now: datetime) -> Look | None:
    """Return this session's current impersonation. An expired one, or one of a former operator, is dropped."""
    named = request.session.get(_SESSION_KEY)
    if named is None:
        return None
    look = _look(request, *named)
    if look is None or look.ends_at <= now:
        del request.session[_SESSION_KEY]
        return None
    return look


def end_look(request: HttpRequest, *, now: datetime) -> Look | None:
    """End this session's impersonation, and return it; None if there was none."""
    look = find_look(request, now=now)
    if look is not None:
        _record(request, look, _STOPPED, now)
        del request.session[_SESSION_KEY]
    return look


def _look(request: HttpRequest, look_id: str, mer_id: str) -> Look | None:
    if not _may_look(request):
        return None
    entries = AuditEntry.objects.filter(merchant__public_id=mer_id, actor=_person(request), object_id=look_id)
    told = {entry.action: entry for entry in entries.select_related("merchant")}
    entry = told.get(_LOOKED)
    if entry is None or _STOPPED in told:
        return None
    reason = (entry.after or {})["reason"]
    return Look(look_id, cast("Merchant", entry.merchant), reason, entry.created_at + IMPERSONATION_LASTS)


def _may_look(request: HttpRequest) -> bool:
    return (
        request.user.is_authenticated
        and is_operator(request)
        and has_factor(_person(request))
        and proved_by_factor(request)
    )


def _record(request: HttpRequest, look: Look, action: str, now: datetime, after: dict[str, str] | None = None) -> None:
    record(look.merchant, action=action, actor=actor_of(request), object_id=look.public_id, after=after, now=now)


def _person(request: HttpRequest) -> User:
    return cast("User", request.user)
