"""A person's place in a merchant's team for one request, and access rules of the dashboard's pages."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, Final, cast
from urllib.parse import urlencode

from allauth.core.exceptions import ReauthenticationRequired
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from accounts.freshness import needs_proof
from accounts.models import Membership, Merchant, User
from accounts.states import Mode, Role
from accounts.team.operators import Look, find_look
from accounts.team.permissions import Act, may
from mails.addresses import masked_in

_SAFE: Final = {"GET", "HEAD"}

View = Callable[..., HttpResponseBase]


@dataclass(frozen=True, slots=True)
class Seat:
    """The person (`user`), merchant, role and mode of a request.

    `look` is set for an operator's impersonation from outside the team: they see pages but cannot export.
    """

    user: User
    merchant: Merchant
    role: Role
    mode: Mode
    look: Look | None = None

    def can(self, act: Act | str) -> bool:
        """Return whether the person has a permission here."""
        if self.look:
            return Act(act) is Act.SEE
        if Act(act) is Act.APPROVE_PAYOUTS and self.role == Role.ADMIN:
            return self.merchant.admins_approve
        return may(self.role, Act(act))

    def shown(self, text: str) -> str:
        """Return a text that may hold buyers' e-mail addresses: masked, unless the person may run payments."""
        return text if self.can(Act.RUN_PAYMENTS) else masked_in(text)

    def url(self, name: str, **kwargs: Any) -> str:
        """Return the address of a route of this merchant and mode."""
        here = {"mer_id": self.merchant.public_id, "mode": self.mode}
        return reverse(name, kwargs=here | kwargs)


class PersonRequest(HttpRequest):
    """A request of a logged-in person."""

    user: User


class SeatedRequest(PersonRequest):
    """A request of a team member, or of an operator who impersonates the merchant."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class RoutePermission:
    """The permission of each method of a route. `fresh` requires a recent login for every method.

    With `everybody`, every logged-in person may use the route, which belongs to no merchant.
    """

    acts: dict[str, Act]
    fresh: bool = False
    everybody: bool = False


def seated(*, get: Act | None = None, post: Act | None = None, fresh: bool = False) -> Callable[[View], View]:
    """Let members of the path's merchant in by their role, and impersonating operators.

    The view gets a `SeatedRequest`, and the path's arguments without `mer_id` and `mode`. Strangers get a 404, a method
    without a permission a 405, and an insufficient role an explanation. With `fresh`, people whose login is older than ten
    minutes reauthenticate first.
    """
    acts = {"GET": get, "HEAD": get, "POST": post}
    decision = RoutePermission({name: act for name, act in acts.items() if act}, fresh=fresh)

    def decorate(view: View) -> View:
        @wraps(view)
        def decided(request: HttpRequest, *, mer_id: str, mode: str, **rest: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _to_login(request)
            seat = find_seat(request, mer_id=mer_id, mode=Mode(mode), now=timezone.now())
            request.seat = seat  # type: ignore[attr-defined]
            refusal = _refuse(request, seat, decision)
            return refusal or view(request, **rest)

        decided.decision = decision  # type: ignore[attr-defined]
        return decided

    return decorate


def signed_in(*methods: str) -> Callable[[View], View]:
    """Let every logged-in person in, for pages of the dashboard without a merchant."""
    decision = RoutePermission(dict.fromkeys(_with_head(methods), Act.SEE), everybody=True)

    def decorate(view: View) -> View:
        @wraps(view)
        def decided(request: HttpRequest, **rest: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _to_login(request)
            return _refuse_method(request, decision) or view(request, **rest)

        decided.decision = decision  # type: ignore[attr-defined]
        return decided

    return decorate


def find_seat(request: HttpRequest, *, mer_id: str, mode: Mode, now: datetime) -> Seat:
    """Return the person's seat in a merchant's team, or as an impersonating operator.

    Raises Http404 where there is none.
    """
    user = cast("User", request.user)
    membership = Membership.objects.select_related("merchant").filter(user=user, merchant__public_id=mer_id).first()
    if membership is not None:
        return Seat(user, membership.merchant, Role(membership.role), mode)
    look = find_look(request, now=now)
    if look is None or look.merchant.public_id != mer_id:
        raise Http404
    return Seat(user, look.merchant, Role.VIEWER, mode, look)


def _refuse(request: HttpRequest, seat: Seat, decision: RoutePermission) -> HttpResponse | None:
    if refusal := _refuse_method(request, decision):
        return refusal
    act = decision.acts[str(request.method)]
    is_change = decision.fresh or request.method not in _SAFE
    if not seat.can(act) or (seat.look and is_change):
        return render(request, "dashboard/accounts/refused.html", {"act": act}, status=403)
    if decision.fresh and needs_proof(request, now=timezone.now()):
        # The login library's middleware asks for reauthentication, and repeats the request afterwards.
        raise ReauthenticationRequired
    return None


def _refuse_method(request: HttpRequest, decision: RoutePermission) -> HttpResponse | None:
    if request.method in decision.acts:
        return None
    return HttpResponseNotAllowed(list(decision.acts))


def _with_head(methods: Iterable[str]) -> list[str]:
    return [*methods, *(["HEAD"] if "GET" in methods else [])]


def _to_login(request: HttpRequest) -> HttpResponse:
    # A form that was sent after the session ended cannot be repeated by a redirect to its address.
    is_part = "HX-Request" in request.headers
    is_page = request.method in _SAFE and not is_part
    back = request.get_full_path() if is_page else "/dashboard/"
    login = f"{settings.LOGIN_URL}?{urlencode({'next': back})}"
    if is_part:
        # Browsers follow a redirect silently, and the login page would replace the part of the page.
        return HttpResponse(headers={"HX-Redirect": login})
    return HttpResponseRedirect(login)
