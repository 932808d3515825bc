"""The merchant's pages of checkouts: the list, one checkout, and the form for a new one."""

from typing import Final

from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext

from accounts.audit.actors import actor_of
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.creation.service import create_checkout
from checkouts.dashboard.actions import note_context
from checkouts.dashboard.attention import told_of_network, told_of_risk
from checkouts.dashboard.checkout_list import CSV_HEADER, csv_rows, listed, status_counts
from checkouts.dashboard.details import detail_of, find_checkout
from checkouts.dashboard.filters import CheckoutFilters
from checkouts.dashboard.new_checkout import NewCheckoutForm, lacks_wallet
from checkouts.dashboard.timeline import deliveries_to
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.lifecycle.escrow import release_escrow
from checkouts.models import Checkout
from checkouts.page.qr import qr_code
from gateway.core.api.errors import ConflictError, InvalidRequestError, UnavailableError
from gateway.core.api.pagination import KeysetPage, TimedRows, keyset_page, page_by_time
from gateway.core.exports import csv_response
from gateway.core.postgres.replica import reads_replica
from gateway.core.web.form_errors import add_refusal, words_of
from rates.selectors import form_currency
from wallets.disruptions import Told
from webhooks.delivery.retries import retry

_FIRST_CALL: Final = """\
curl {api}/api/v1/checkouts \\
  -H "Authorization: Bearer $TEST_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"amount": "25.00", "currency": "USD", "order_ref": "order-1001"}}'"""


@seated(get=Act.SEE)
@reads_replica
def checkouts(request: SeatedRequest) -> HttpResponse:
    """List checkouts, newest first, with days and times in the merchant's time zone."""
    seat, filters = request.seat, _filters(request)
    counts, address = status_counts(seat), seat.url("dashboard_checkouts")
    page = _page(filters, request)
    context = {
        "filters": filters,
        "rows": listed(page.rows),
        "pager": page,
        "tabs": filters.tabs(address, counts),
        "chips": filters.chips(address),
        "is_new_here": not counts[""],
        "is_cut": filters.is_cut,
        "export": filters.query(),
        "told": _told(filters),
        "call": _FIRST_CALL.format(api=settings.BASE_URL),
    }
    with timezone.override(filters.zone):
        return render(request, "dashboard/checkouts/list.html", context)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send all checkouts of a list as CSV."""
    rows = csv_rows(_filters(request).filter(_mine(request.seat)))
    return csv_response(f"checkouts-{request.seat.mode}", CSV_HEADER, rows)


def _filters(request: SeatedRequest) -> CheckoutFilters:
    return CheckoutFilters(request.GET, request.seat, now=timezone.now())


def _told(filters: CheckoutFilters) -> Told | None:
    """Say what is wrong with the network that the list is about, if it is about one."""
    seat, now = filters.seat, timezone.now()
    if doubted := filters.texts["doubt"]:
        return told_of_risk(seat, doubted, now=now)
    return told_of_network(seat, offered, now=now) if (offered := filters.texts["offers"]) else None


def _page(filters: CheckoutFilters, request: SeatedRequest) -> KeysetPage[Checkout]:
    found, query, rows = filters.filter(_mine(request.seat)), request.GET.dict(), filters.cleaned_data["size"]
    # An index by time begins at the newest payment of the days.
    if filters.is_by_payment:
        return page_by_time([TimedRows(found, "paid_at")], query, rows=rows)
    return keyset_page(found, query, rows=rows)


@seated(get=Act.SEE)
def checkout(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Show one checkout."""
    found = _found(request.seat, checkout_id)
    detail = detail_of(found, request.seat, now=timezone.now())
    qr = qr_code(detail.url) if detail.is_open else None
    context = {"detail": detail, "qr": qr, "has_code": qr is not None} | note_context(found)
    return render(request, "dashboard/checkouts/detail.html", context)


@seated(get=Act.SEE)
def live(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Return the changed parts of a checkout's page; empty if nothing changed.

    With `code` in the query, the page shows the code of the link, and its large form says how the checkout stands.
    """
    found = _found(request.seat, checkout_id)
    detail = detail_of(found, request.seat, now=timezone.now())
    if request.GET.get("seen") == detail.digest():
        return HttpResponse(status=204)
    context = {"detail": detail, "is_update": True, "has_code": request.GET.get("code") == "1"}
    return render(request, "dashboard/checkouts/_live.html", context)


@seated(post=Act.RUN_PAYMENTS)
def resend(request: SeatedRequest, *, checkout_id: str, delivery_id: str) -> HttpResponse:
    """Send a webhook of a checkout again."""
    found = _found(request.seat, checkout_id)
    delivery = deliveries_to(found).filter(public_id=delivery_id).first()
    if delivery is None:
        raise Http404
    try:
        retry(delivery, now=timezone.now(), actor=actor_of(request))
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("%(type)s is being sent again.") % {"type": delivery.event.type})
    return _to_checkout(request.seat, checkout_id)


@seated(post=Act.RUN_PAYMENTS)
def release(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Release a checkout's money from escrow."""
    found = _found(request.seat, checkout_id)
    try:
        is_first = release_escrow(found, actor=actor_of(request), now=timezone.now())
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        words = gettext("The money is released. The next sweep takes it to your wallet.")
        again = gettext("It was already released. The next sweep takes it to your wallet.")
        messages.success(request, words if is_first else again)
    return _to_checkout(request.seat, checkout_id)


@seated(post=Act.RUN_PAYMENTS)
def cancel(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Cancel an unpaid checkout."""
    found = _found(request.seat, checkout_id)
    try:
        cancel_checkout(found.pk, actor=actor_of(request), now=timezone.now())
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("Checkout cancelled. It can no longer be paid."))
    return _to_checkout(request.seat, checkout_id)


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def new_checkout(request: SeatedRequest) -> HttpResponse:
    """Show the form for a new checkout, and create it by the API's rules."""
    is_test = request.seat.mode == "test"
    if request.method != "POST":
        initial = {"currency": form_currency(request.seat.merchant)}
        return _form(request, NewCheckoutForm(is_test=is_test, initial=initial))
    form = NewCheckoutForm(request.POST, is_test=is_test)
    if not form.is_valid() or form.wanted is None:
        return _form(request, form, status=422)
    seat = request.seat
    try:
        created = create_checkout(seat.merchant.pk, seat.mode, form.wanted, now=timezone.now())
    # The latter two of a price that cannot be converted, or is worth too little or too much.
    except (ConflictError, InvalidRequestError, UnavailableError) as error:
        add_refusal(form, error)
        return _form(request, form, status=409)
    if created.is_new:
        messages.success(request, gettext("Checkout created. Share the link."))
    else:
        messages.warning(request, gettext("This order reference already has a checkout. Here it is."))
    return _to_checkout(seat, created.row.public_id)


def _form(request: SeatedRequest, form: NewCheckoutForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "lacks_wallet": lacks_wallet(request.seat)}
    return render(request, "dashboard/checkouts/new.html", context, status=status)


def _mine(seat: Seat) -> QuerySet[Checkout]:
    return Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)


def _found(seat: Seat, checkout_id: str) -> Checkout:
    found = find_checkout(seat, checkout_id)
    if found is None:
        raise Http404
    return found


def _to_checkout(seat: Seat, checkout_id: str) -> HttpResponse:
    return HttpResponseRedirect(seat.url("dashboard_checkout", checkout_id=checkout_id))
