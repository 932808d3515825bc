"""Views that the hosted page requests only if the browser has a wallet."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from checkouts.page.requests import asked_page, error_answer, find_checkout, is_from_our_page, json_answer
from checkouts.page.transactions import parse_signed, prepare_transaction, send_signed
from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.api.wire import JsonParser
from gateway.core.web.compact import compact_page
from gateway.core.web.pages import count_visit, too_many, uncached

WALLETS = Limit("checkout.wallets", 60)
# Each costs our nodes two requests: limits per client for one checkout, and for all.
TRANSACTION = Limit("checkout.transaction", 10)
TRANSACTION_ANYWHERE = Limit("checkout.transaction.anywhere", 30)

_MOST_BYTES = 4096

Answer = Callable[[HttpRequest, str], HttpResponse]


@compact_page
@require_safe
def wallet_buttons(request: HttpRequest, code: str) -> HttpResponse:
    """Show the part of the page with a button for each wallet; empty if wallets cannot pay. Raises Http404."""
    checkout = find_checkout(code)
    try:
        count_visit(request, WALLETS, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    page = asked_page(request, checkout, timezone.now())
    payment = page.target.payment if page.target else None
    words = {"wallet": payment.wallet if payment else None}
    return uncached(render(request, "checkouts/_wallets.html", words))


def _answers_json(view: Callable[[HttpRequest, str], dict[str, Any]]) -> Answer:
    """Decorate a view: its result or error is JSON, for our own pages only."""

    @require_POST
    @wraps(view)
    def answer(request: HttpRequest, code: str) -> HttpResponse:
        try:
            _count(request, code)
            return json_answer(view(request, code))
        except Http404:
            return error_answer(errors.NotFoundError("There is no such checkout."))
        except errors.GatewayError as error:
            return error_answer(error)

    return answer


@_answers_json
def transaction(request: HttpRequest, code: str) -> dict[str, Any]:
    """Prepare the payment of `{chain, account}` for the buyer's wallet to sign."""
    checkout, body = find_checkout(code), _body(request)
    return prepare_transaction(checkout, body, now=timezone.now())


@_answers_json
def signed_transaction(request: HttpRequest, code: str) -> dict[str, Any]:
    """Send the transaction that the buyer's wallet signed, from `{ticket, signature}`."""
    checkout, signed = find_checkout(code), parse_signed(_body(request))
    send_signed(checkout, signed, now=timezone.now())
    return {}


def _count(request: HttpRequest, code: str) -> None:
    if not is_from_our_page(request):
        raise errors.RoleError("Only the checkout's own page may ask for this.")
    count_visit(request, TRANSACTION, code)
    count_visit(request, TRANSACTION_ANYWHERE, "")


def _body(request: HttpRequest) -> Mapping[str, Any]:
    """Read a JSON object. Other sites' pages cannot send its media type without a preflight."""
    if request.content_type != "application/json":
        raise errors.MediaTypeError("Send application/json.")
    if len(request.body) > _MOST_BYTES:
        raise errors.BodyTooLargeError("The body is too large.")
    return JsonParser().parse(request)
