"""The x402 pages: machines' payments, addresses, and requirements."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.keyset import keyset_page
from gateway.core.csv_files import csv_response
from gateway.core.web.client_address import address_or_none
from settlements.dashboard.rows import has_key
from wallets.networks import accepted_tokens, chains
from x402.dashboard.places import Place, places_of
from x402.dashboard.rows import payment_rows
from x402.dashboard.snippets import EXAMPLE_CHAIN, snippets, verify_call
from x402.dashboard.sums import machine_sums
from x402.dashboard.words import STATUSES
from x402.payloads import CSV_HEADER, csv_rows
from x402.payments.addresses import known_pay_to, pay_to_everywhere
from x402.payments.requirements import requires_signature, set_requirements
from x402.selectors import PaymentFilter, payments_of
from x402.states import PaymentStatus


@seated(get=Act.SEE)
def payments(request: SeatedRequest) -> HttpResponse:
    """Show machines' payments, newest first, and how much is settled."""
    seat, wanted = request.seat, _parse_wanted(request.seat, request.GET)
    page = keyset_page(payments_of(wanted), request.GET.dict())
    places = places_of(seat)
    context = {
        "wanted": wanted,
        "is_narrowed": bool(_query(wanted)),
        "rows": payment_rows(page.rows),
        "pager": page,
        "tabs": _tabs(seat, "dashboard_x402"),
        "sums": machine_sums(seat),
        "has_key": has_key(),
        "is_payable": any(place.address for place in places),
        "export": _query(wanted),
        "call": verify_call(known_pay_to(seat.merchant.pk, Mode.TEST, EXAMPLE_CHAIN)),
        "chains": [(spec.name, spec.title) for spec in chains().values()],
        "tokens": [(name, name) for name in accepted_tokens()],
        "statuses": [(status, badge.label) for status, badge in STATUSES.items()],
    }
    return render(request, "dashboard/x402/payments.html", context)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send all payments of a list as CSV."""
    seat = request.seat
    rows = csv_rows(payments_of(_parse_wanted(seat, request.GET)))
    return csv_response(f"x402-{seat.mode}", CSV_HEADER, rows)


@seated(get=Act.SEE)
def setup(request: SeatedRequest) -> HttpResponse:
    """Show where machines pay, what is missing, and how to set up a resource server."""
    seat = request.seat
    places = places_of(seat)
    context = {
        "tabs": _tabs(seat, "dashboard_x402_setup"),
        "places": places,
        "snippets": snippets(_on_base(places)),
        "requires_signature": requires_signature(seat.merchant.pk),
    }
    return render(request, "dashboard/x402/setup.html", context)


@seated(post=Act.RUN_PAYMENTS)
def forwarders(request: SeatedRequest) -> HttpResponse:
    """Create the forwarders that machines pay, on all networks that can have them."""
    pay_to_everywhere(request.seat.merchant.pk, request.seat.mode)
    return HttpResponseRedirect(request.seat.url("dashboard_x402_setup"))


@seated(post=Act.MANAGE_WEBHOOKS)
def signature(request: SeatedRequest) -> HttpResponse:
    """Set whether a proof by hash needs the payer's signature."""
    wanted = request.POST.get("required") == "yes"
    set_requirements(
        request.seat.merchant,
        requires_signature=wanted,
        actor=request.user,
        now=timezone.now(),
        client=address_or_none(request),
    )
    told = (
        "From now on a hash is accepted only with the payer's signature."
        if wanted
        else "From now on the first request with a hash may use it."
    )
    messages.success(request, told)
    return HttpResponseRedirect(request.seat.url("dashboard_x402_setup"))


def _parse_wanted(seat: Seat, query: Mapping[str, str]) -> PaymentFilter:
    """Parse a query string from an untrusted client; invalid filters are ignored."""
    chain, token = query.get("chain", ""), query.get("token", "")
    status = query.get("status", "")
    return PaymentFilter(
        seat.merchant.pk,
        seat.mode,
        chain=chain if chain in chains() else "",
        token=token if token in accepted_tokens() else "",
        status=status if status in PaymentStatus.values else "",
    )


def _query(wanted: PaymentFilter) -> str:
    told = {name: getattr(wanted, name) for name in ("chain", "token", "status")}
    return urlencode({name: value for name, value in told.items() if value})


def _on_base(places: list[Place]) -> str | None:
    return next((str(place.address) for place in places if place.chain == EXAMPLE_CHAIN and place.address), None)


def _tabs(seat: Seat, current: str) -> list[tuple[str, str, bool, int | None]]:
    return [
        (label, seat.url(route), route == current, None)
        for route, label in (("dashboard_x402", "Payments"), ("dashboard_x402_setup", "Set up"))
    ]
