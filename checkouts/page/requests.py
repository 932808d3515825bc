"""Helpers of the hosted page's views: find the checkout, render its page, answer in JSON."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from accounts.brand.facts import with_brand
from accounts.states import Mode
from checkouts.exact.exhaustion import is_exhausted
from checkouts.exact_amounts import price_of
from checkouts.models import Checkout
from checkouts.options import takes_money
from checkouts.page.build import Conditions, build_page
from checkouts.page.state import CheckoutPage, Choice
from checkouts.payloads import remaining_units
from checkouts.rescue.answers import UNREADABLE, answer_for
from checkouts.rows import credited_transfers
from checkouts.selectors import has_late_money, reserved_amount
from gateway.core import json
from gateway.core.api import errors
from gateway.core.web.languages import asked_language
from gateway.core.web.pages import uncached
from wallets.selectors import chain_statuses, down_reasons


def find_checkout(code: str) -> Checkout:
    """Return the checkout of a page code, its merchant and brand loaded. Raises Http404."""
    try:
        return with_brand(Checkout.objects.all()).get(code=code)
    except Checkout.DoesNotExist:
        raise Http404 from None


def asked_page(
    request: HttpRequest, checkout: Checkout, now: datetime, *, asked: Mapping[str, str] | None = None
) -> CheckoutPage:
    """Build the page as of `now`, with the choice and the answer named by `asked`, the query string."""
    asked = request.GET if asked is None else asked
    found = asked.get("found", "")
    transfers = credited_transfers([checkout.pk]).get(checkout.pk, [])
    answer = answer_for(found, checkout, transfers)
    # A buyer who asked about a payment sees its network.
    paid_on = answer.chain if answer else ""
    page = build_page(
        checkout,
        transfers=transfers,
        choice=Choice(
            chain=asked.get("chain", paid_on), token=asked.get("token", ""), language=asked_language(request)
        ),
        conditions=_conditions(checkout, now),
        now=now,
        answer=answer,
    )
    return replace(page, is_hash_unreadable=found == UNREADABLE)


def _conditions(checkout: Checkout, now: datetime) -> Conditions:
    if not takes_money(checkout, now=now):
        return Conditions(has_late_money=has_late_money(checkout))
    # Simulated money does not depend on the chains' state.
    is_live = checkout.mode == Mode.LIVE
    statuses, reasons = (chain_statuses(now=now), down_reasons(now=now)) if is_live else ({}, {})
    reserved = reserved_amount(checkout, now=now)
    price = price_of(remaining_units(checkout))
    is_full = reserved is None and is_exhausted(
        checkout.merchant_id, Mode(checkout.mode), price, now=now, for_links=checkout.is_from_link
    )
    return Conditions(reserved=reserved, is_full=is_full, statuses=statuses, reasons=reasons)


def is_from_our_page(request: HttpRequest) -> bool:
    """Return whether the request's headers say that it comes from our own page. Old browsers send no such headers.

    `Origin` is null, because our pages send no referrer.
    """
    return request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"


def json_answer(body: dict[str, Any], status: int = 200) -> HttpResponse:
    """Return a JSON response that must not be cached."""
    answer = HttpResponse(json.dumps(body), status=status, content_type="application/json")
    return uncached(answer)


def error_answer(error: errors.GatewayError) -> HttpResponse:
    """Return an error in the API's format."""
    return uncached(json_answer(error.body(), error.status), error.headers())
