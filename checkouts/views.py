"""The hosted checkout page and its status. Views read the clock and translate; `checkouts.pages` decides."""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_safe

from accounts.states import Mode
from checkouts.exactamounts import price_of
from checkouts.exhaustion import is_exhausted
from checkouts.models import Checkout
from checkouts.options import may_begin_again, takes_money
from checkouts.page_limits import STATUS
from checkouts.page_state import CheckoutPage, Choice, clock_of
from checkouts.pages import Conditions, build_page
from checkouts.payloads import remaining_units
from checkouts.qr import qr_code
from checkouts.rows import credited_transfers
from checkouts.selectors import reserved_amount
from checkouts.services.again import begin_again
from checkouts.services.reservations import choose_exact_amount
from gateway.core import errors, json
from gateway.core.pages import count_visit, too_many, uncached
from gateway.core.ratelimit import Limit
from wallets.selectors import chain_statuses

PAGE = Limit("checkout.page", 60)
CHOOSE = Limit("checkout.choose", 60)
AGAIN = Limit("checkout.again", 10)
# Somebody who reloads what a form led to asks for it by GET, and is led back to the page.
_FORM = require_http_methods(["GET", "HEAD", "POST"])


@gzip_page
@require_safe
def checkout_page(request: HttpRequest, code: str) -> HttpResponse:
    """Show a checkout to its buyer. Raises Http404 for a code that names none."""
    checkout = _checkout(code)
    try:
        count_visit(request, PAGE, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    now = timezone.now()
    page = _page(request, checkout, now)
    return uncached(render(request, "checkouts/page.html", _context(page, now)))


@_FORM
def choose_network(request: HttpRequest, code: str) -> HttpResponse:
    """Take the buyer's choice of a network, reserve its exact amount if it needs one, and lead back to the page.

    Only here does a buyer reserve anything: links are followed by robots and previews. Raises Http404.
    """
    checkout = _checkout(code)
    if request.method != "POST":
        return _see_page(code)
    try:
        count_visit(request, CHOOSE, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    chain = request.POST.get("chain", "")
    offer = checkout.offers.get(chain)
    if offer is None:
        return _see_page(code)
    if offer["address"] is None and _is_from_our_page(request):
        _reserve(checkout)
    asked = request.POST.get("token", "")
    token = asked if asked in offer["tokens"] else offer["tokens"][0]
    return _see_page(code, {"chain": chain, "token": token})


def _reserve(checkout: Checkout) -> None:
    now = timezone.now()
    try:
        choose_exact_amount(checkout.pk, now=now)
    except errors.ConflictError:
        # The page says why: it is paid or over by now, or the price has no amount left.
        return


@_FORM
def try_again(request: HttpRequest, code: str) -> HttpResponse:
    """Make an expired checkout afresh where its merchant lets buyers do that, and lead there. Raises Http404."""
    checkout = _checkout(code)
    if request.method != "POST":
        return _see_page(code)
    try:
        count_visit(request, AGAIN, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    if not may_begin_again(checkout) or not _is_from_our_page(request):
        return _see_page(code)
    try:
        fresh = begin_again(checkout, now=timezone.now())
    except errors.ConflictError as error:
        return _cannot_begin(request, checkout, error)
    return _see_page(fresh.code)


def _cannot_begin(
    request: HttpRequest, checkout: Checkout, error: errors.ConflictError
) -> HttpResponse:
    words = {"merchant": checkout.merchant.name, "code": error.code}
    return uncached(render(request, "409.html", words, status=409))


@gzip_page
@require_safe
def checkout_receipt(request: HttpRequest, code: str) -> HttpResponse:
    """Show the receipt of a paid checkout, to print or to keep; any other leads to its page. Raises Http404."""
    checkout = _checkout(code)
    try:
        count_visit(request, PAGE, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    page = _page(request, checkout, timezone.now())
    if not page.is_completed:
        return _see_page(code)
    return uncached(render(request, "checkouts/receipt.html", {"page": page}))


def _is_from_our_page(request: HttpRequest) -> bool:
    """Whether the browser says so; old ones say nothing. `Origin` is null, for our pages send no referrer."""
    return request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"


def _see_page(code: str, query: dict[str, str] | None = None) -> HttpResponse:
    address = reverse("checkout", args=[code])
    if query:
        address += f"?{urlencode(query)}"
    return uncached(HttpResponse(status=303), {"Location": address})


@gzip_page
@require_safe
def checkout_status(request: HttpRequest, code: str) -> HttpResponse:
    """Answer `{status, final, panel}` for polling, or 304 as long as the page would look the same."""
    try:
        checkout = _checkout(code)
        count_visit(request, STATUS, code)
    except Http404:
        return _error(errors.NotFoundError("There is no such checkout."))
    except errors.RateLimitError as error:
        return _error(error)
    now = timezone.now()
    page = _page(request, checkout, now)
    etag = f'"{_version(page)}"'
    if get_conditional_response(request, etag=etag) is not None:
        return uncached(HttpResponseNotModified(), {"ETag": etag})
    return uncached(_json(_status_body(request, page, now)), {"ETag": etag})


@require_safe
def no_stream(request: HttpRequest, code: str) -> HttpResponse:
    """Answer where no proxy leads this path to the stream server. 204 tells a browser not to come back; the page polls."""
    del request, code
    return uncached(HttpResponse(status=204))


def _checkout(code: str) -> Checkout:
    try:
        return Checkout.objects.select_related("merchant").get(code=code)
    except Checkout.DoesNotExist:
        raise Http404 from None


def _page(request: HttpRequest, checkout: Checkout, now: datetime) -> CheckoutPage:
    return build_page(
        checkout,
        transfers=credited_transfers([checkout.pk]).get(checkout.pk, []),
        choice=Choice(request.GET.get("chain", ""), request.GET.get("token", "")),
        conditions=_conditions(checkout, now),
        now=now,
    )


def _conditions(checkout: Checkout, now: datetime) -> Conditions:
    if not takes_money(checkout, now=now):
        return Conditions()
    # Simulated money moves whatever the chains do.
    statuses = chain_statuses(now=now) if checkout.mode == Mode.LIVE else {}
    reserved = reserved_amount(checkout, now=now)
    price = price_of(remaining_units(checkout))
    is_full = reserved is None and is_exhausted(
        checkout.merchant_id, Mode(checkout.mode), price, now=now
    )
    return Conditions(reserved=reserved, is_full=is_full, statuses=statuses)


def _context(page: CheckoutPage, now: datetime) -> dict[str, Any]:
    payment = page.target.payment if page.target else None
    return {
        "page": page,
        "version": _version(page),
        "clock": clock_of(page, now=now),
        "stream_url": settings.STREAM_URL
        + reverse("checkout-stream", args=[page.code]),
        "qr": qr_code(payment.qr_text) if payment else None,
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
    return uncached(_json(error.body(), error.status), error.headers())
