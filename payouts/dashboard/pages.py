"""The list of payouts, and the page of one, where people approve it, change its address or cancel it."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError, InvalidRequestError, RoleError
from gateway.core.api.pagination import keyset_page
from gateway.core.web.form_errors import add_refusal, words_of
from payouts.approvals.service import approve_payout
from payouts.dashboard.funds import with_funds
from payouts.dashboard.paying import again_for, pay_selected
from payouts.dashboard.rows import PayoutFilters, detail_of, mine, pay_groups, payout_rows, tab_counts, unclosed_batches
from payouts.dashboard.second_factor import refuse_without_factor
from payouts.following.service import accept_amount, accept_lost_outflow, wrong_amounts
from payouts.lifecycle.payers import MOST_SENDERS, payers_of
from payouts.lifecycle.recipients import LONGEST_ADDRESS, ask_recipient
from payouts.lifecycle.service import cancel_payout, set_address
from payouts.models import Payout
from payouts.outflows.lost_outflows import lost_outflows
from payouts.states import UNSENT, AddressBy, PayoutStatus
from wallets.models import WatchedMovement
from wallets.networks import chain_title

MOST_TO_PAY: Final = 500
"""How many approved payouts the list offers to pay at once."""


class AddressForm(forms.Form):
    """The address that a person gives."""

    address = forms.CharField(
        max_length=LONGEST_ADDRESS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
    )

    def __init__(self, *args: Any, label: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["address"].label = label


class RevisionForm(forms.Form):
    """Which of a payout's addresses the person saw."""

    revision = forms.IntegerField(min_value=0, max_value=2_000_000_000)


@seated(get=Act.SEE)
def payouts(request: SeatedRequest) -> HttpResponse:
    """List refunds and payouts, newest first; those to pay are listed by network and token."""
    seat, filters = request.seat, PayoutFilters(request.GET)
    counts = tab_counts(seat)
    context: dict[str, Any] = {
        "filters": filters,
        "tabs": filters.tabs(seat.url("dashboard_payouts"), counts),
        "is_new_here": not any(counts.values()),
    }
    found = filters.filter(mine(seat))
    if filters.current_tab == "pay":
        context["groups"] = with_funds(seat, pay_groups(list(found.order_by("pk")[:MOST_TO_PAY])))
    else:
        if filters.current_tab == "sent" and seat.can(Act.REQUEST_PAYOUTS):
            context["batches"] = unclosed_batches(seat)
        if not filters.current_tab and seat.can(Act.APPROVE_PAYOUTS):
            context["to_approve"] = mine(seat).filter(status=PayoutStatus.REQUESTED).count()
        page = keyset_page(found, request.GET.dict())
        context |= {"rows": payout_rows(page.rows), "pager": page}
    return render(request, "dashboard/payouts/list.html", context)


@seated(get=Act.SEE)
def payout(request: SeatedRequest, *, payout_id: str) -> HttpResponse:
    """Show one payout."""
    found = find_payout(request.seat, payout_id)
    detail = detail_of(found, request.seat, now=timezone.now())
    context = {"detail": detail, "payout": found, "again": again_for(request.seat, found)}
    return render(request, "dashboard/payouts/detail.html", context)


@seated(post=Act.APPROVE_PAYOUTS, fresh=True)
def approve(request: SeatedRequest, *, payout_id: str) -> HttpResponse:
    """Approve the address that the person saw.

    With a wallet and a method it is also handed out to be paid, where this approval is enough and the person may pay.
    """
    found = find_payout(request.seat, payout_id)
    if refusal := _refuse_decision(request):
        return refusal
    form = RevisionForm(request.POST)
    if not form.is_valid():
        raise BadRequest("A form of ours has a revision.")
    try:
        approved = approve_payout(
            found,
            revision=form.cleaned_data["revision"],
            despite=request.POST.getlist("despite"),
            actor=actor_of(request),
            now=timezone.now(),
        )
    except (ConflictError, RoleError) as error:
        messages.error(request, words_of(error))
    else:
        is_enough = approved.status == PayoutStatus.APPROVED
        if is_enough and "method" in request.POST and request.seat.can(Act.REQUEST_PAYOUTS):
            messages.success(request, gettext("Approved."))
            return pay_selected(request, [payout_id])
        messages.success(
            request,
            gettext("Approved. Pay it under To pay.") if is_enough else gettext("Approved. One more person has to."),
        )
    return to_payout(request.seat, payout_id)


@seated(post=Act.APPROVE_PAYOUTS, fresh=True)
def accept_lost(request: SeatedRequest, *, payout_id: str) -> HttpResponse:
    """Say that an outflow of a time that a restore lost is a payout's. The network still has to confirm it."""
    return _accept_outflow(request, payout_id, lost_outflows, accept_lost_outflow, gettext("Noted."))


@seated(post=Act.APPROVE_PAYOUTS, fresh=True)
def accept(request: SeatedRequest, *, payout_id: str) -> HttpResponse:
    """Accept an outflow of another amount as a payout's. The network still has to confirm it."""
    return _accept_outflow(request, payout_id, wrong_amounts, accept_amount, gettext("Accepted."))


def _accept_outflow(
    request: SeatedRequest,
    payout_id: str,
    waiting: Callable[[Payout], Iterable[WatchedMovement]],
    accept_as: Callable[..., Payout],
    said: str,
) -> HttpResponse:
    """Accept the outflow that the form names, if it is one of those `waiting` for a decision about the payout."""
    found = find_payout(request.seat, payout_id)
    if refusal := _refuse_decision(request):
        return refusal
    named = request.POST.get("movement", "")
    movement = next((one for one in waiting(found) if one.public_id == named), None)
    if movement is None:
        messages.error(request, gettext("This payment no longer waits for a decision."))
        return to_payout(request.seat, payout_id)
    try:
        accept_as(found, movement, actor=actor_of(request), now=timezone.now())
    except (ConflictError, RoleError) as error:
        messages.error(request, words_of(error))
    else:
        rest = gettext("The payout is paid once the network has confirmed this payment.")
        messages.success(request, f"{said} {rest}")
    return to_payout(request.seat, payout_id)


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def address(request: SeatedRequest, *, payout_id: str) -> HttpResponse:
    """Ask for another address, and save it: approvals of the one before are void."""
    seat = request.seat
    found = find_payout(seat, payout_id)
    if found.status not in UNSENT:
        messages.error(request, gettext("The address of this payout can no longer change."))
        return to_payout(seat, payout_id)
    label = gettext("%(token)s address on %(network)s") % {"token": found.token, "network": chain_title(found.chain)}
    if request.method != "POST":
        return _address_page(request, found, AddressForm(label=label))
    form = AddressForm(request.POST, label=label)
    if not form.is_valid():
        return _address_page(request, found, form, status=422)
    typed, now = form.cleaned_data["address"].strip(), timezone.now()
    recipient = ask_recipient((found.chain, typed), mode=found.mode, asker=f"merchant:{found.merchant_id}", now=now)
    try:
        set_address(found, address=typed, by=AddressBy.PERSON, now=now, actor=actor_of(request), recipient=recipient)
    except InvalidRequestError as error:
        add_refusal(form, error)
        return _address_page(request, found, form, status=422)
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("Address saved. It waits for approval."))
    return to_payout(seat, payout_id)


@seated(post=Act.REQUEST_PAYOUTS)
def cancel(request: SeatedRequest, *, payout_id: str) -> HttpResponse:
    """Cancel a payout that was not handed out."""
    found = find_payout(request.seat, payout_id)
    try:
        cancel_payout(found, now=timezone.now(), actor=actor_of(request))
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("Cancelled. Its money can be refunded again, and its link takes no address."))
    return to_payout(request.seat, payout_id)


def find_payout(seat: Seat, payout_id: str) -> Payout:
    """Return a payout of a seat's merchant and mode, with what its page shows. Raises Http404."""
    shown = mine(seat).select_related("merchant", "movement", "batch", "requested_by")
    found = shown.filter(public_id=payout_id).first()
    if found is None:
        raise Http404
    return found


def to_payout(seat: Seat, payout_id: str) -> HttpResponseRedirect:
    """Return a redirect to a payout's page."""
    return HttpResponseRedirect(seat.url("dashboard_payout", payout_id=payout_id))


def _refuse_decision(request: SeatedRequest) -> HttpResponse | None:
    """Return a redirect if a decision about real money needs a second factor that the person has not; else None."""
    return refuse_without_factor(request) if request.seat.mode == Mode.LIVE else None


def _address_page(request: SeatedRequest, found: Payout, form: AddressForm, status: int = 200) -> HttpResponse:
    context = {"payout": found, "form": form, "senders": payers_of(found)[:MOST_SENDERS]}
    return render(request, "dashboard/payouts/address.html", context, status=status)
