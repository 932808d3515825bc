"""The page of a customer: by a reference, an e-mail address or a paying address; and where one is looked for."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext

from accounts.audit.actors import actor_of
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.customers import (
    MOST_SUMMED,
    Customer,
    checkouts_of,
    customer_note,
    customer_sums,
    customer_url,
    customers_named,
    named_customer,
    noted_customers,
    write_customer_note,
)
from checkouts.dashboard.actions import NoteForm
from checkouts.dashboard.checkout_list import listed
from checkouts.models import Checkout, Payment
from checkouts.states import CustomerKind
from gateway.core.api.pagination import keyset_page
from gateway.core.money import readable
from gateway.core.postgres.replica import reads_replica
from payouts.dashboard.rows import PayoutRow, mine, payout_rows
from payouts.models import PayoutSource
from wallets.networks import shown_address

MOST_REFUNDS: Final = 10
"""The newest refunds of a customer's newest checkouts are shown."""

_MOST_READ: Final = 1_000


def asked_customer(seat: Seat, query: Mapping[str, str]) -> Customer | None:
    """Return the customer that a query string names; None if it names none, or more than one."""
    given = [(kind, query[kind]) for kind in CustomerKind if query.get(kind)]
    if len(given) != 1:
        return None
    [(kind, value)] = given
    return named_customer(seat, kind, value)


@seated(get=Act.SEE)
@reads_replica
def customers(request: SeatedRequest) -> HttpResponse:
    """Show a customer, or ask for one."""
    seat = request.seat
    if not any(request.GET.get(kind) for kind in CustomerKind):
        return _ask(request)
    customer = asked_customer(seat, request.GET)
    found = checkouts_of(seat, customer) if customer else Checkout.objects.none()
    sums = customer_sums(found)
    if customer is None or sums is None:
        raise Http404
    page = keyset_page(found, request.GET.dict())
    note = customer_note(seat, customer)
    context = {
        "customer": customer,
        "name": _name(customer),
        "sums": sums,
        "paid": readable(sums.paid),
        "most": MOST_SUMMED,
        "rows": listed(page.rows),
        "pager": page,
        "refunds": _refunds(seat, found),
        "note": note,
        "form": NoteForm({"text": note.text}) if note else NoteForm(),
    }
    return render(request, "dashboard/reports/customer.html", context)


@seated(post=Act.RUN_PAYMENTS)
def note(request: SeatedRequest) -> HttpResponse:
    """Save, change or remove the team's note about a customer."""
    seat, customer = request.seat, asked_customer(request.seat, request.POST)
    if customer is None or not checkouts_of(seat, customer).exists():
        raise Http404
    form = NoteForm(request.POST)
    if form.is_valid():
        text = form.cleaned_data["text"]
        write_customer_note(seat, customer, text, actor=actor_of(request), now=timezone.now())
        messages.success(request, gettext("Note saved.") if text else gettext("Note removed."))
    else:
        messages.error(request, gettext("Note: %(errors)s") % {"errors": form.errors["text"][0]})
    return HttpResponseRedirect(customer_url(seat, customer))


def _ask(request: SeatedRequest) -> HttpResponse:
    """Ask for a customer; one that is found has a page of its own."""
    text = request.GET.get("q", "").strip()
    if text and (url := _found(request.seat, text)):
        return HttpResponseRedirect(url)
    noted = noted_customers(request.seat)
    rows = [(_name(customer), customer, customer_url(request.seat, customer), at) for customer, at in noted]
    context = {"asked": text, "noted": rows}
    return render(request, "dashboard/reports/customers.html", context)


def _found(seat: Seat, text: str) -> str:
    """Return the page of the first kind of customer that a text names and that has checkouts; empty if there is none."""
    return next((customer_url(seat, one) for one in customers_named(seat, text)), "")


def _name(customer: Customer) -> str:
    return shown_address(customer.value) if customer.kind == CustomerKind.ADDRESS else customer.value


def _refunds(seat: Seat, found: QuerySet[Checkout]) -> Sequence[PayoutRow]:
    keys: list[Any] = list(found.order_by("-pk").values_list("pk", flat=True)[:_MOST_READ])
    paid = Payment.objects.filter(checkout__in=keys).values("transfer_id")
    sources = PayoutSource.objects.filter(transfer__in=paid).values("payout_id")
    return payout_rows(mine(seat).filter(pk__in=sources).order_by("-pk")[:MOST_REFUNDS])
