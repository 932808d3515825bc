"""The session of a till's device: a cookie of its own, on pages that are nobody's login.

It is `SameSite=Strict`, and forms are refused unless the browser says that they come from our own page, so no other site
can sell for a device.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.utils import timezone, translation

from checkouts.models import Terminal
from checkouts.page.choice import is_from_our_page
from checkouts.page.views import json_answer
from checkouts.till.pairing import IDLE, is_locked, note_act, terminal_of
from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.web.pages import count_client, too_many, uncached

COOKIE_SECONDS: Final = 400 * 86_400
"""The longest that browsers keep a cookie (RFC 6265bis, 5.5). It is set again with each page of the keypad."""

# Of one terminal, whatever its address is. Polling without a stream takes half of it.
ASK: Final = Limit("till.ask", 120)

UNPAIRED: Final = "unpaired"
"""Tells an open page that its terminal was revoked, or that another device took its place."""

_POLICY: Final = {"frame-ancestors": ["'none'"], "form-action": ["'self'"], "manifest-src": ["'self'"]}
# What an open page sends when it looks whether the device is locked by now: no person did anything.
_IDLE_LOOK: Final = "Till-Idle"
_SAFE: Final = ("GET", "HEAD")

TillView = Callable[..., HttpResponse]


class TillRequest(HttpRequest):
    """A request of a paired device."""

    terminal: Terminal


def till_page(*methods: str) -> Callable[[TillView], TillView]:
    """Decorate a page of the till's host: never framed, never cached, in English, and its forms only from our own pages."""
    allowed = [*methods, *(["HEAD"] if "GET" in methods else [])]

    def decorate(view: TillView) -> TillView:
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method not in allowed:
                return HttpResponseNotAllowed(allowed)
            if request.method not in _SAFE and not is_from_our_page(request):
                return uncached(
                    HttpResponse("Press the button on the till's own page.", status=403, content_type="text/plain")
                )
            with translation.override("en"):
                response = uncached(view(request, *args, **kwargs))
            response["X-Frame-Options"] = "DENY"
            return response

        guarded: TillView = csp_replace(_POLICY)(answer)  # type: ignore[assignment]  # it returns what the view does
        return guarded

    return decorate


def at_terminal(*methods: str, answers_json: bool = False, unlocks: bool = False) -> Callable[[TillView], TillView]:
    """Decorate a page of a paired device, which gets a `TillRequest`. Others are told how to pair, with status 401.

    A device with a PIN that was idle gets the page that asks for it, with status 403. With `answers_json`, what an open page asks: it is
    answered that the device is `unpaired`, so that the page reloads itself; and it goes on while nobody touches the device, because a
    customer looks at it. With `unlocks`, the page that takes the PIN.
    """

    def decorate(view: TillView) -> TillView:
        @till_page(*methods)
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            now = timezone.now()
            terminal = terminal_of(request.COOKIES.get(settings.TILL_COOKIE_NAME, ""), now=now)
            if terminal is None:
                return json_answer({"status": UNPAIRED, "panel": ""}) if answers_json else not_paired(request)
            try:
                count_client("any", ASK, terminal.public_id)
            except errors.RateLimitError as error:
                return too_many(request, error)
            request.terminal = terminal  # type: ignore[attr-defined]
            if not answers_json and not unlocks:
                if is_locked(terminal, now=now):
                    return locked(request)
                if _IDLE_LOOK not in request.headers:
                    note_act(terminal, now=now)
            return view(request, *args, **kwargs)

        return answer

    return decorate


def not_paired(request: HttpRequest, *, problem: str = "", status: int = 401) -> HttpResponse:
    """Return the page on which a device types its code; `problem` says why that did not work."""
    response = render(request, "dashboard/checkouts/till/pair.html", {"problem": problem}, status=status)
    if status == 401:
        # RFC 9110, 11.6.1 asks for a challenge. Browsers show a window for schemes that they know, not for this one.
        response["WWW-Authenticate"] = "Terminal"
    return response


def locked(request: HttpRequest, *, problem: str = "", status: int = 403) -> HttpResponse:
    """Return the page on which an idle device takes its PIN; `problem` says why that did not work."""
    return render(request, "dashboard/checkouts/till/pin.html", {"problem": problem}, status=status)


def idle_seconds(terminal: Terminal) -> int:
    """Return after how many seconds an open page shows nothing more; 0 for a device without a PIN."""
    return IDLE.seconds if terminal.pin_hash else 0


def keep(response: HttpResponse, token: str) -> HttpResponse:
    """Let the device keep its token."""
    response.set_cookie(
        settings.TILL_COOKIE_NAME,
        token,
        max_age=COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response
