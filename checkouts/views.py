"""The hosted checkout page and its status. Views read the clock and translate; `checkouts.pages` decides."""

import time
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from checkouts.models import Checkout
from checkouts.page_state import CheckoutPage, Choice, clock_of
from checkouts.pages import build_page
from checkouts.qr import qr_code
from checkouts.rows import credited_transfers
from gateway.core import errors, json, ratelimit
from gateway.core.clientaddr import client_address
from gateway.core.ratelimit import Limit

PAGE = Limit("checkout.page", 60)
STATUS = Limit("checkout.status", 60)


@gzip_page
@require_safe
def checkout_page(request: HttpRequest, code: str) -> HttpResponse:
    """Show a checkout to its buyer. Raises Http404 for a code that names none."""
    checkout = _checkout(code)
    try:
        _count(request, PAGE, code)
    except errors.RateLimitError as error:
        words = {"retry_after": error.retry_after}
        return _uncached(
            render(request, "429.html", words, status=429), error.headers()
        )
    now = timezone.now()
    page = _page(request, checkout, now)
    return _uncached(render(request, "checkouts/page.html", _context(page, now)))


@gzip_page
@require_safe
def checkout_status(request: HttpRequest, code: str) -> HttpResponse:
    """Answer `{status, final, panel}` for polling, or 304 as long as the page would look the same."""
    try:
        checkout = _checkout(code)
        _count(request, STATUS, code)
    except Http404:
        return _error(errors.NotFoundError("There is no such checkout."))
    except errors.RateLimitError as error:
        return _error(error)
    now = timezone.now()
    page = _page(request, checkout, now)
    etag = f'"{_version(page)}"'
    if get_conditional_response(request, etag=etag) is not None:
        return _uncached(HttpResponseNotModified(), {"ETag": etag})
    return _uncached(_json(_status_body(request, page, now)), {"ETag": etag})


def _checkout(code: str) -> Checkout:
    try:
        return Checkout.objects.select_related("merchant").get(code=code)
    except Checkout.DoesNotExist:
        raise Http404 from None


def _count(request: HttpRequest, limit: Limit, code: str) -> None:
    """Count a request for one page by one client. Raises RateLimitError."""
    now = time.time()
    state = ratelimit.hit(limit, f"{code}:{client_address(request)}", now=now)
    if state.exceeded:
        raise errors.RateLimitError(max(1, state.reset - int(now)))


def _page(request: HttpRequest, checkout: Checkout, now: datetime) -> CheckoutPage:
    return build_page(
        checkout,
        transfers=credited_transfers([checkout.pk]).get(checkout.pk, []),
        choice=Choice(request.GET.get("chain", ""), request.GET.get("token", "")),
        now=now,
    )


def _context(page: CheckoutPage, now: datetime) -> dict[str, Any]:
    address = page.target.address if page.target else None
    return {
        "page": page,
        "version": _version(page),
        "clock": clock_of(page, now=now),
        "qr": qr_code(address) if address else None,
    }


def _version(page: CheckoutPage) -> str:
    """Name what the page looks like; a new release may draw the same page differently."""
    return f"{page.digest()}-{settings.SERVICE_VERSION}"


def _status_body(
    request: HttpRequest, page: CheckoutPage, now: datetime
) -> dict[str, Any]:
    return {
        "status": page.status,
        "final": page.is_final,
        "panel": render_to_string(
            "checkouts/_panel.html", _context(page, now), request
        ),
    }


def _json(body: dict[str, Any], status: int = 200) -> HttpResponse:
    return HttpResponse(
        json.dumps(body), status=status, content_type="application/json"
    )


def _error(error: errors.GatewayError) -> HttpResponse:
    return _uncached(_json(error.body(), error.status), error.headers())


def _uncached(
    response: HttpResponse, headers: dict[str, str] | None = None
) -> HttpResponse:
    for name, value in (headers or {}).items():
        response[name] = value
    response["Cache-Control"] = "no-store"
    return response
