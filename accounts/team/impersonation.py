"""An operator's impersonation of a merchant: read-only, for half an hour, and recorded in the merchant's audit log.

The log is authoritative. The session only refers to it, so an old copy of a session cannot revive an ended impersonation.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

from django.http import HttpRequest

from accounts.audit.actors import actor_of
from accounts.audit.service import record
from accounts.models import AuditEntry, Merchant, User
from accounts.team.operators import has_factor, is_operator, proved_by_factor
from gateway.core.ids import new_id
from gateway.core.times import iso

LASTS: Final = timedelta(minutes=30)
_LOOKED: Final = "operator.looked"
_STOPPED: Final = "operator.stopped"
# The session's keys for the impersonation and its merchant.
_SESSION_KEY: Final = "operator_look"


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
    look = Look(new_id("look"), merchant, reason, now + LASTS)
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
    return Look(look_id, cast("Merchant", entry.merchant), reason, entry.created_at + LASTS)


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
