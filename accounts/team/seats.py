"""The place of a person in a merchant's team, as one request finds it; who may open which page of the dashboard.

Every view of a merchant's pages is decorated with `seated`, which names the act that each of its methods takes. A method
without a decision is refused, and a test walks the routes: one whose view is not decorated fails it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, Final, cast
from urllib.parse import urlencode

from allauth.core.exceptions import ReauthenticationRequired
from django.conf import settings
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from accounts.freshness import needs_proof
from accounts.models import Membership, Merchant, User
from accounts.states import Mode, Role
from accounts.team.impersonation import (
    Look,
    find_look,
)
from accounts.team.permissions import (
    Act,
    may,
)

_SAFE: Final = {"GET", "HEAD"}


@dataclass(frozen=True, slots=True)
class Seat:
    """Who asks (`user`), for which merchant, as what, and whether about real money.

    `look` is there where an operator looks who is not in the team: they see pages, and take nothing along.
    """

    user: User
    merchant: Merchant
    role: Role
    mode: Mode
    look: Look | None = None

    def can(self, act: Act | str) -> bool:
        """Say whether the person may do this here."""
        if self.look:
            return Act(act) is Act.SEE
        return may(self.role, Act(act))

    def url(self, name: str, **kwargs: Any) -> str:
        """Return the address of a route of this merchant and mode."""
        here = {"mer_id": self.merchant.public_id, "mode": self.mode}
        return reverse(name, kwargs=here | kwargs)


class PersonRequest(HttpRequest):
    """A request of somebody who is logged in."""

    user: User


class SeatedRequest(PersonRequest):
    """A request whose person sits in the merchant's team, or looks at it as an operator."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class Decision:
    """What each method of a route takes. `fresh` asks for a recent proof of who it is, whatever the method.

    A route of `everybody` who is logged in belongs to no merchant.
    """

    acts: dict[str, Act]
    fresh: bool = False
    everybody: bool = False


View = Callable[..., HttpResponseBase]


def seated(
    *, get: Act | None = None, post: Act | None = None, fresh: bool = False
) -> Callable[[View], View]:
    """Let members of the merchant in the path in, as far as their role goes, and an operator who looks at it.

    The view gets a `SeatedRequest`, and the path's arguments without `mer_id` and `mode`. Strangers get a 404, a method
    without a decision a 405, and a role that is too small the page that says so. With `fresh`, whoever did not prove in
    the last ten minutes that it is them does so first, and comes back.
    """
    acts = {"GET": get, "HEAD": get, "POST": post}
    decision = Decision({name: act for name, act in acts.items() if act}, fresh=fresh)

    def decorate(view: View) -> View:
        @wraps(view)
        def decided(
            request: HttpRequest, *, mer_id: str, mode: str, **rest: Any
        ) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _to_login(request)
            seat = find_seat(
                request, mer_id=mer_id, mode=Mode(mode), now=timezone.now()
            )
            request.seat = seat  # type: ignore[attr-defined]
            refusal = _refuse(request, seat, decision)
            return refusal or view(request, **rest)

        decided.decision = decision  # type: ignore[attr-defined]
        return decided

    return decorate


def signed_in(*methods: str) -> Callable[[View], View]:
    """Let everybody in who is logged in: for pages of the dashboard that belong to no merchant yet."""
    decision = Decision(dict.fromkeys(_with_head(methods), Act.SEE), everybody=True)

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
    """Return the person's place in a merchant's team, or where they look at it as an operator.

    Raises Http404 where there is none.
    """
    user = cast("User", request.user)
    membership = (
        Membership.objects.select_related("merchant")
        .filter(user=user, merchant__public_id=mer_id)
        .first()
    )
    if membership is not None:
        return Seat(user, membership.merchant, Role(membership.role), mode)
    look = find_look(request, now=now)
    if look is None or look.merchant.public_id != mer_id:
        raise Http404
    return Seat(user, look.merchant, Role.VIEWER, mode, look)


def _refuse(
    request: HttpRequest, seat: Seat, decision: Decision
) -> HttpResponse | None:
    if refusal := _refuse_method(request, decision):
        return refusal
    act = decision.acts[str(request.method)]
    is_change = decision.fresh or request.method not in _SAFE
    if not seat.can(act) or (seat.look and is_change):
        return render(request, "dashboard/refused.html", {"act": act}, status=403)
    if decision.fresh and needs_proof(request, now=timezone.now()):
        # The login library's middleware sends the person to prove it, and the request on afterwards.
        raise ReauthenticationRequired
    return None


def _refuse_method(request: HttpRequest, decision: Decision) -> HttpResponse | None:
    if request.method in decision.acts:
        return None
    return HttpResponseNotAllowed(list(decision.acts))


def _with_head(methods: Iterable[str]) -> list[str]:
    return [*methods, *(["HEAD"] if "GET" in methods else [])]


def _to_login(request: HttpRequest) -> HttpResponse:
    # A form that was sent after the login ended cannot be sent again from an address.
    is_part = "HX-Request" in request.headers
    is_page = request.method in _SAFE and not is_part
    back = request.get_full_path() if is_page else "/dashboard/"
    login = f"{settings.LOGIN_URL}?{urlencode({'next': back})}"
    if is_part:
        # Browsers follow a redirect unseen, and the login would stand where the part of the page was.
        return HttpResponse(headers={"HX-Redirect": login})
    return HttpResponseRedirect(login)
