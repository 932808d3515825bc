"""Paying: choosing a wallet and a method for approved payouts, and the batch's page with what the wallet is given."""

from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.page.qr import QrCode, qr_code
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.exports import csv_response
from gateway.core.money import from_units, readable_units
from gateway.core.web.form_errors import add_refusal
from payouts.batches import MOST_IN_A_BATCH, Wanted, batch_order, cancel_batch, make_batch
from payouts.dashboard.rows import PayGroup, mine, pay_groups
from payouts.instructions import CSV_HEADER, SHOWN_DIGITS, PayingOrder
from payouts.models import PayoutBatch
from payouts.states import BatchStatus, Method, PayoutStatus
from wallets.dashboard.rows import MarkedAddress, marked
from wallets.models import WatchedBalance
from wallets.networks import chain_spec, decimals_of, shown_address
from wallets.selectors import receiving_wallets

_LONGEST_ID: Final = 40
CODES_AT_ONCE: Final = 20

METHODS: Final = (
    (Method.CALLS, "Sign in this browser", "Your wallet is asked once for all of them, or for one after the other."),
    (Method.SAFE, "Safe file", "For a Safe: open the file in its Transaction Builder. Signers compare the digest."),
    (Method.LIST, "List and QR codes", "For an exchange, a hardware wallet or a phone: a CSV file and codes to scan."),
)
_BY_CALLS: Final = frozenset({Method.CALLS, Method.SAFE})


class PayForm(forms.Form):
    """The paying wallet and the method."""

    wallet = forms.CharField(
        label="Paying wallet",
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
        help_text="The money leaves from this address. We watch it, so that we see your payments.",
    )
    method = forms.ChoiceField(label="Method", widget=forms.RadioSelect)

    def __init__(self, *args: Any, methods: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["method"].choices = methods  # type: ignore[attr-defined]


@seated(post=Act.RUN_PAYMENTS, fresh=True)
def pay(request: SeatedRequest) -> HttpResponse:
    """Ask for the wallet and the method of the payouts that were selected; with both, make the batch."""
    ids = [text for text in request.POST.getlist("payout") if len(text) <= _LONGEST_ID][: MOST_IN_A_BATCH + 1]
    chosen = list(mine(request.seat).filter(public_id__in=ids, status=PayoutStatus.APPROVED).order_by("pk"))
    groups = pay_groups(chosen)
    if len(groups) != 1 or len(chosen) != len(set(ids)):
        messages.error(request, "Select approved payouts of one network and token.")
        return HttpResponseRedirect(f"{request.seat.url('dashboard_payouts')}?status=pay")
    [group] = groups
    methods = [(method.value, label) for method, label, _ in _methods_on(group.chain)]
    if "method" not in request.POST:
        known = receiving_wallets(request.seat.merchant.pk).get(group.chain, "")
        form = PayForm(
            initial={"wallet": shown_address(known) if known else "", "method": methods[0][0]}, methods=methods
        )
        return _pay_page(request, group, form)
    form = PayForm(request.POST, methods=methods)
    if not form.is_valid():
        return _pay_page(request, group, form, status=422)
    wanted = Wanted(
        [payout.public_id for payout in chosen],
        form.cleaned_data["wallet"].strip(),
        Method(form.cleaned_data["method"]),
    )
    seat = request.seat
    try:
        made = make_batch(seat.merchant, Mode(seat.mode), wanted, actor=actor_of(request), now=timezone.now())
    except InvalidRequestError as error:
        add_refusal(form, error)
        if error.param == "address":
            form.add_error("wallet", error.message)
        return _pay_page(request, group, form, status=422)
    except ConflictError as error:
        form.add_error(None, error.message)
        return _pay_page(request, group, form, status=409)
    return HttpResponseRedirect(seat.url("dashboard_payout_batch", batch_id=made.public_id))


@seated(get=Act.RUN_PAYMENTS)
def batch(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Show what a batch's wallet is asked to pay, and how far it is."""
    found = _found(request.seat, batch_id)
    order = batch_order(found)
    context = _context(found, order)
    if found.method == Method.CALLS and found.status == BatchStatus.OPEN:
        unseen = _unseen(found)
        calls = zip(order.lines, order.calls(), strict=True)
        context["calls"] = [
            call | {"id": f"{batch_id}/{line.payout_id}"} for line, call in calls if line.payout_id in unseen
        ]
    return render(request, "dashboard/payouts/batch.html", context)


@seated(get=Act.RUN_PAYMENTS)
def csv_list(request: SeatedRequest, *, batch_id: str) -> HttpResponseBase:
    """Send the list as CSV. Its SHA-256 is the batch's digest."""
    found = _open(request.seat, batch_id)
    order = batch_order(found)
    return csv_response(_file_name(found), CSV_HEADER, order.rows(), for_people=False)


@seated(get=Act.RUN_PAYMENTS)
def safe_file(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Send the file for the transaction builder of the paying Safe."""
    found = _open(request.seat, batch_id)
    order = batch_order(found)
    if not order.takes_calls:
        raise Http404
    text = order.safe_file(found.wallet.address, at=found.created_at)
    disposition = f'attachment; filename="{_file_name(found)}.json"'
    return HttpResponse(text, content_type="application/json", headers={"Content-Disposition": disposition})


@dataclass(frozen=True, slots=True)
class CodeCard:
    """One payment to scan."""

    payout_id: str
    amount: str
    address: MarkedAddress
    qr: QrCode


@seated(get=Act.RUN_PAYMENTS)
def codes(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Show QR codes of the payments that were not seen yet, some at a time."""
    found = _open(request.seat, batch_id)
    order = batch_order(found)
    unseen = _unseen(found)
    waiting = [line for line in order.lines if line.payout_id in unseen]
    cards = [
        CodeCard(
            line.payout_id,
            readable_units(line.units, order.token.decimals),
            marked(line.address),
            qr_code(order.code(line)),
        )
        for line in waiting[:CODES_AT_ONCE]
    ]
    context = _context(found, order) | {"cards": cards, "more": max(0, len(waiting) - CODES_AT_ONCE)}
    return render(request, "dashboard/payouts/codes.html", context)


@seated(post=Act.RUN_PAYMENTS)
def cancel(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Ask for a batch's payouts back."""
    found = _found(request.seat, batch_id)
    try:
        cancel_batch(found, actor=actor_of(request), now=timezone.now())
    except ConflictError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "Cancelled. Do not sign or send it any more.")
    return HttpResponseRedirect(request.seat.url("dashboard_payout_batch", batch_id=batch_id))


def _methods_on(chain: str) -> list[tuple[Method, str, str]]:
    """Return the methods that wallets of a chain know, each with its name and a sentence."""
    family = chain_spec(chain).family
    takes_calls = family.transfer_data(family.nobody, 1) is not None
    return [method for method in METHODS if takes_calls or method[0] not in _BY_CALLS]


def _pay_page(request: SeatedRequest, group: PayGroup, form: PayForm, status: int = 200) -> HttpResponse:
    context = {"group": group, "form": form, "methods": _methods_on(group.chain), "short": _short(request.seat, group)}
    return render(request, "dashboard/payouts/pay.html", context, status=status)


def _short(seat: Seat, group: PayGroup) -> str:
    """Return how much the watched receiving wallet lacks, for people; empty if it has enough, or nobody read its balance."""
    held = WatchedBalance.objects.filter(
        wallet__merchant=seat.merchant,
        wallet__mode=seat.mode,
        wallet__removed_at=None,
        wallet__chain=group.chain,
        wallet__address=receiving_wallets(seat.merchant.pk).get(group.chain, ""),
        token=group.token,
    ).first()
    if held is None:
        return ""
    lacks = group.units - int(held.units)
    return readable_units(lacks, decimals_of(group.chain, group.token)) if lacks > 0 else ""


def _found(seat: Seat, batch_id: str) -> PayoutBatch:
    """Return a batch of a seat's merchant and mode. Raises Http404."""
    batches = PayoutBatch.objects.select_related("wallet", "created_by", "merchant")
    found = batches.filter(merchant=seat.merchant, mode=seat.mode, public_id=batch_id).first()
    if found is None:
        raise Http404
    return found


def _open(seat: Seat, batch_id: str) -> PayoutBatch:
    """Return a batch that is to be paid. Raises Http404: what was cancelled is handed out no more."""
    found = _found(seat, batch_id)
    if found.status != BatchStatus.OPEN:
        raise Http404
    return found


def _unseen(found: PayoutBatch) -> set[str]:
    """Return the public ids of a batch's payouts that no outflow pays yet."""
    return set(found.payouts.filter(status=PayoutStatus.SENDING, movement=None).values_list("public_id", flat=True))


def _file_name(found: PayoutBatch) -> str:
    return f"payouts-{found.chain}-{found.token.lower()}-{bytes(found.digest).hex()[:SHOWN_DIGITS]}"


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A payout of a batch as it was frozen, and its status now."""

    payout_id: str
    amount: str
    address: MarkedAddress
    badge: Any


def _context(found: PayoutBatch, order: PayingOrder) -> dict[str, Any]:
    statuses = {request.payout.public_id: request.payout for request in found.requests.select_related("payout")}
    decimals = order.token.decimals
    rows = [
        BatchRow(
            line.payout_id,
            readable_units(line.units, decimals),
            marked(line.address),
            PayoutStatus(statuses[line.payout_id].status).badge,
        )
        for line in order.lines
    ]
    digest = bytes(found.digest).hex()
    return {
        "batch": found,
        "rows": rows,
        "total": readable_units(order.units, decimals),
        "total_plain": f"{from_units(order.units, decimals):f}",
        "chain": order.chain,
        "chain_id": hex(order.chain.chain_id or 0),
        "digest": digest,
        "digest_shown": digest[:SHOWN_DIGITS],
        "wallet": marked(found.wallet.address),
        "is_open": found.status == BatchStatus.OPEN,
        "is_cooling": found.status == BatchStatus.CANCELLED,
        "takes_calls": order.takes_calls,
        "method": Method(found.method),
    }
