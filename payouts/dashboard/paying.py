"""Paying: choosing a wallet and a method for approved payouts, and the batch's page with what the wallet is given."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.page.qr import QrCode, qr_code
from gateway.core.api.errors import ConflictError, GatewayError, InvalidRequestError, UnavailableError
from gateway.core.exports import csv_response
from gateway.core.money import from_units, readable_units
from gateway.core.web.form_errors import add_refusal, words_of
from payouts.batches.authorizations import authorization_of, domain_of, take_signature, vouched_digest
from payouts.batches.instructions import AIRDROP_HEADER, CSV_HEADER, PayingOrder
from payouts.batches.service import MOST_IN_A_BATCH, Wanted, batch_order, cancel_batch, make_batch
from payouts.batches.transactions import prepare_transaction, send_transaction
from payouts.dashboard.funds import with_funds
from payouts.dashboard.rows import PayGroup, mine, pay_groups
from payouts.following.service import COOLING
from payouts.lifecycle.sources import sourceless
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.outflows.lost_outflows import may_return, seem_paid, unread_since
from payouts.states import BY_CALLS, ENDING, SHOWN_DIGITS, BatchStatus, Method, PayoutStatus, Trouble
from wallets.chains.base import ChainError
from wallets.chains.family import ChainSpec
from wallets.dashboard.rows import MarkedAddress, marked
from wallets.networks import chain_spec, shown_address
from wallets.selectors import receiving_wallets

_LONGEST_ID: Final = 40
CODES_AT_ONCE: Final = 20

METHODS: Final = (
    (
        Method.AUTHORIZATION,
        gettext_noop("Sign, and we send"),
        gettext_noop(
            "Your wallet signs each payment, without gas; our gas account sends it. The token accepts each payout once."
        ),
    ),
    (
        Method.TRANSACTION,
        gettext_noop("Sign one by one"),
        gettext_noop(
            "Your wallet signs transactions of ours: one for each payment, or on TON for several. Each ends "
            "within minutes, and then the next is written."
        ),
    ),
    (
        Method.CALLS,
        gettext_noop("Sign in this browser"),
        gettext_noop("Your wallet is asked once for all of them, or for one after the other."),
    ),
    (
        Method.SAFE,
        gettext_noop("Safe file"),
        gettext_noop("For a Safe: open the file in its Transaction Builder. Signers compare the digest."),
    ),
    (
        Method.LIST,
        gettext_noop("List and QR codes"),
        gettext_noop("For an exchange, a hardware wallet or a phone: a CSV file and codes to scan."),
    ),
)


class PayForm(forms.Form):
    """The paying wallet and the method."""

    wallet = forms.CharField(
        label=_("Paying wallet"),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
        help_text=_("The money leaves from this address. We watch it, so that we see your payments."),
    )
    method = forms.ChoiceField(label=_("Method"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, methods: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["method"].choices = methods  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Again:
    """The wallet and the method of a chain's last batch, which pay the next payout without being chosen again.

    `wallet` is as people type it, `shown` as they compare it, `name` the method's.
    """

    wallet: str
    shown: MarkedAddress
    method: str
    name: str


def again_for(seat: Seat, payout: Payout) -> Again | None:
    """Return what paid on a payout's chain before; None if nothing did, or if the person may not pay."""
    before = _last_batch(seat, payout.chain) if seat.can(Act.REQUEST_PAYOUTS) else None
    if before is None:
        return None
    name = next(name for method, name, _ in METHODS if method == before.method)
    address = before.wallet.address
    return Again(shown_address(address), marked(address), before.method, gettext(name))


@seated(post=Act.REQUEST_PAYOUTS, fresh=True)
def pay(request: SeatedRequest) -> HttpResponse:
    """Ask for the wallet and the method of the payouts that were selected; with both, make the batch."""
    given = (text for text in request.POST.getlist("payout") if len(text) <= _LONGEST_ID and "\x00" not in text)
    return pay_selected(request, list(given)[: MOST_IN_A_BATCH + 1])


def pay_selected(request: SeatedRequest, ids: list[str]) -> HttpResponse:
    """Do the same for payouts by their ids; the caller checked that the person may pay, by a recent login."""
    chosen = list(mine(request.seat).filter(public_id__in=ids, status=PayoutStatus.APPROVED).order_by("pk"))
    groups = pay_groups(chosen)
    if len(groups) != 1 or len(chosen) != len(set(ids)):
        messages.error(request, gettext("Select approved payouts of one network and token."))
        return HttpResponseRedirect(f"{request.seat.url('dashboard_payouts')}?status=pay")
    [group] = groups
    offered = _methods_for(group)
    methods = [(method.value, label) for method, label, _ in offered]
    if "method" not in request.POST:
        form = PayForm(initial=_as_before(request.seat, group.chain, methods), methods=methods)
        return _pay_page(request, group, form, offered)
    form = PayForm(request.POST, methods=methods)
    if not form.is_valid():
        return _pay_page(request, group, form, offered, status=422)
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
            form.add_error("wallet", words_of(error))
        return _pay_page(request, group, form, offered, status=422)
    except (ConflictError, UnavailableError) as error:
        form.add_error(None, words_of(error))
        return _pay_page(request, group, form, offered, status=error.status)
    return HttpResponseRedirect(seat.url("dashboard_payout_batch", batch_id=made.public_id))


def _as_before(seat: Seat, chain: str, methods: list[tuple[str, str]]) -> dict[str, str]:
    """Return the wallet and the method of the last batch on a chain; at first the receiving wallet, and the first method."""
    before = _last_batch(seat, chain)
    known = before.wallet.address if before else receiving_wallets(seat.merchant.pk).get(chain, "")
    offered = [method for method, _ in methods]
    method = before.method if before and before.method in offered else offered[0]
    return {"wallet": shown_address(known) if known else "", "method": method}


def _last_batch(seat: Seat, chain: str) -> PayoutBatch | None:
    last = PayoutBatch.objects.filter(merchant=seat.merchant, mode=seat.mode, chain=chain).select_related("wallet")
    return last.order_by("-pk").first()


@seated(get=Act.REQUEST_PAYOUTS)
def batch(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Show what a batch's wallet is asked to pay, and how far it is."""
    found = _found(request.seat, batch_id)
    order = batch_order(found)
    context = _context(found, order)
    if found.status == BatchStatus.OPEN and (since := unread_since(found.wallet, now=timezone.now())):
        return render(request, "dashboard/payouts/batch.html", context | {"unread_since": since})
    if found.method == Method.CALLS and found.status == BatchStatus.OPEN:
        unseen = _unseen(found)
        calls = zip(order.lines, order.calls(), strict=True)
        context["calls"] = [
            call | {"id": f"{batch_id}/{line.payout_id}"} for line, call in calls if line.payout_id in unseen
        ]
    if found.method == Method.AUTHORIZATION and found.mode == Mode.LIVE:
        context |= _signing(found)
    if found.method == Method.TRANSACTION and found.mode == Mode.LIVE:
        context |= _handing(found, now=timezone.now())
    return render(request, "dashboard/payouts/batch.html", context)


_TROUBLES: Final = {
    Trouble.GAS: gettext_noop("Our gas account cannot pay for {count} of them now. They are sent once it can."),
    Trouble.FUNDS: gettext_noop(
        "The paying wallet holds too little for {count} of them. They are sent once it holds enough."
    ),
    Trouble.USED: gettext_noop(
        "{count} of them were sent or taken back already, as the token says. We look for their payments."
    ),
    Trouble.REFUSED: gettext_noop(
        "The token refuses {count} of them: it may have blocked an address. They are tried until their time is over."
    ),
}


def _signing(found: PayoutBatch) -> dict[str, Any]:
    """Return what of an open batch is to be signed, what is signed, and why some of that is not sent.

    What the gas account cannot pay for, any wallet may send with its own gas: the token accepts each signature once.
    """
    rows = list(
        found.requests.select_related("payout", "batch__wallet")
        .filter(payout__batch=found, payout__status=PayoutStatus.SENDING, payout__movement=None)
        .order_by("payout__public_id")
    )
    if found.status != BatchStatus.OPEN:
        return {"signed": sum(row.signature is not None for row in rows)}
    unsigned = [row for row in rows if row.signature is None]
    gone, in_doubt = sourceless([row.payout_id for row in rows])
    kept = gone | in_doubt
    asked = [row for row in unsigned if row.payout_id not in kept]
    counts = Counter(Trouble(row.trouble) for row in rows if row.signature is not None and row.trouble)
    context: dict[str, Any] = {
        "signed": len(rows) - len(unsigned),
        "troubles": [gettext(_TROUBLES[trouble]).format(count=count) for trouble, count in sorted(counts.items())],
        "authorizations": [{"payout": row.payout.public_id, "typed": authorization_of(row).typed()} for row in asked],
    }
    waits_for_gas = [row for row in rows if row.trouble == Trouble.GAS and row.payout_id not in kept]
    if not asked and waits_for_gas:
        context["calls"] = [_own_gas(row) for row in waits_for_gas]
    return context


def _own_gas(row: PayoutRequest) -> dict[str, str]:
    call = authorization_of(row).call()
    return {"to": call.to, "data": f"0x{call.data.hex()}", "id": f"{row.batch.public_id}/{row.payout.public_id}"}


def _handing(found: PayoutBatch, *, now: datetime) -> dict[str, Any]:
    """Return for which payouts of an open batch a transaction can be handed out, and how many are out."""
    rows = found.requests.filter(payout__batch=found, payout__status=PayoutStatus.SENDING, payout__movement=None)
    # Bytes of ours may be handed out again until they are signed; what a wallet may change, only after its end.
    is_out = Q(valid_until__gt=now) & (Q(tx_hash="") | Q(signature__isnull=False))
    # What lost its payment is handed out no more, and what may have lost it waits: neither must keep the others of the batch from it.
    gone, in_doubt = sourceless(list(rows.values_list("payout", flat=True)))
    unsent = rows.exclude(is_out).exclude(payout__in=gone | in_doubt).order_by("payout__public_id")
    free = unsent.values_list("payout__public_id", flat=True)
    is_open = found.status == BatchStatus.OPEN
    return {
        "transactions": [{"payout": payout_id} for payout_id in free] if is_open else None,
        "handed": rows.filter(is_out).count(),
        "manifest": f"{settings.BASE_URL}{reverse('wallet_manifest')}",
    }


@seated(post=Act.REQUEST_PAYOUTS)
def hand_out_transaction(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Write the transaction of a payout, or of several, for the page's script; tell which of them it pays."""
    found, payout_ids = _open(request.seat, batch_id), request.POST.getlist("payout")
    _refuse_zeros(*payout_ids)
    try:
        written = prepare_transaction(found, payout_ids, now=timezone.now())
    except GatewayError as error:
        return JsonResponse(error.body(), status=error.status)
    return JsonResponse({"transaction": written.transaction, "payouts": written.payouts})


def _refuse_zeros(*texts: str) -> None:
    if any("\x00" in text for text in texts):  # PostgreSQL would refuse the statement
        raise Http404


@seated(post=Act.REQUEST_PAYOUTS)
def sign(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Take the paying wallet's signature of one payout, from the page's script."""
    found, payout_id = _open(request.seat, batch_id), request.POST.get("payout", "")
    _refuse_zeros(payout_id)
    signature, now = request.POST.get("signature", ""), timezone.now()
    try:
        if found.method == Method.TRANSACTION:
            send_transaction(found, payout_id, signature, now=now)
        else:
            # Before the transaction: a contract wallet is asked by its network.
            vouched = vouched_digest(found, payout_id, signature)
            take_signature(found, payout_id, signature, vouched=vouched, now=now)
    except GatewayError as error:
        return JsonResponse(error.body(), status=error.status)
    return HttpResponse(status=204)


@seated(get=Act.REQUEST_PAYOUTS)
def csv_list(request: SeatedRequest, *, batch_id: str) -> HttpResponseBase:
    """Send the list as CSV. Its SHA-256 is the batch's digest."""
    found = _whole(request.seat, batch_id)
    order = batch_order(found)
    return csv_response(_file_name(found), CSV_HEADER, order.rows(), for_people=False)


@seated(get=Act.REQUEST_PAYOUTS)
def safe_file(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Send the file for the transaction builder of the paying Safe."""
    found, order = _for_a_safe(request.seat, batch_id)
    text = order.safe_file(found.wallet.address, at=found.created_at)
    disposition = f'attachment; filename="{_file_name(found)}.json"'
    return HttpResponse(text, content_type="application/json", headers={"Content-Disposition": disposition})


@seated(get=Act.REQUEST_PAYOUTS)
def airdrop_csv(request: SeatedRequest, *, batch_id: str) -> HttpResponseBase:
    """Send the list as the paying Safe's CSV Airdrop reads it."""
    found, order = _for_a_safe(request.seat, batch_id)
    return csv_response(f"{_file_name(found)}-airdrop", AIRDROP_HEADER, order.airdrop_rows(), for_people=False)


@dataclass(frozen=True, slots=True)
class CodeCard:
    """One payment to scan."""

    payout_id: str
    amount: str
    address: MarkedAddress
    qr: QrCode


@seated(get=Act.REQUEST_PAYOUTS)
def codes(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Show QR codes of the payments that were not seen yet, some at a time."""
    found = _endless(request.seat, batch_id)
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


@seated(post=Act.REQUEST_PAYOUTS)
def cancel(request: SeatedRequest, *, batch_id: str) -> HttpResponse:
    """Ask for a batch's payouts back."""
    found = _found(request.seat, batch_id)
    try:
        cancel_batch(found, actor=actor_of(request), now=timezone.now())
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("Cancelled. Do not sign or send it any more."))
    return HttpResponseRedirect(request.seat.url("dashboard_payout_batch", batch_id=batch_id))


Offer: TypeAlias = tuple[Method, str, str]
"""A method, its name, and a sentence about it."""


def _methods_for(group: PayGroup) -> list[Offer]:
    """Return the methods that can pay a chain's token."""
    spec = chain_spec(group.chain)
    takes_calls = spec.family.transfer_data(spec.family.nobody, 1) is not None
    without = set() if takes_calls else {*BY_CALLS}
    if not _is_signed_for(spec, group.token):
        without.add(Method.AUTHORIZATION)
    if takes_calls or not spec.family.prepares_payments(spec):
        without.add(Method.TRANSACTION)
    return [(method, gettext(name), gettext(words)) for method, name, words in METHODS if method not in without]


def _is_signed_for(spec: ChainSpec, token: str) -> bool:
    try:
        return domain_of(spec, token) is not None
    except ChainError:
        return False


def _pay_page(
    request: SeatedRequest, group: PayGroup, form: PayForm, offered: list[Offer], status: int = 200
) -> HttpResponse:
    [shown] = with_funds(request.seat, [group])
    context = {"group": shown, "form": form, "methods": offered}
    return render(request, "dashboard/payouts/pay.html", context, status=status)


def _found(seat: Seat, batch_id: str) -> PayoutBatch:
    """Return a batch of a seat's merchant and mode. Raises Http404."""
    batches = PayoutBatch.objects.select_related("wallet", "created_by", "merchant")
    found = batches.filter(merchant=seat.merchant, mode=seat.mode, public_id=batch_id).first()
    if found is None:
        raise Http404
    return found


def _open(seat: Seat, batch_id: str) -> PayoutBatch:
    """Return a batch that is to be paid.

    Raises Http404: what was cancelled is handed out no more, nor what was perhaps paid in a time that a restore lost.
    """
    found = _found(seat, batch_id)
    if found.status != BatchStatus.OPEN or unread_since(found.wallet, now=timezone.now()):
        raise Http404
    return found


def _endless(seat: Seat, batch_id: str) -> PayoutBatch:
    """Return an open batch that is paid by what never ends. Raises Http404: others are free again at their end, and a list would not be."""
    found = _open(seat, batch_id)
    if found.method in ENDING:
        raise Http404
    return found


def _whole(seat: Seat, batch_id: str) -> PayoutBatch:
    """Return such a batch of which nothing is kept back. Raises Http404: a file has all of it, or another digest."""
    found = _endless(seat, batch_id)
    if any(sourceless([payout.pk for payout in _waiting(found)])):
        raise Http404
    return found


def _for_a_safe(seat: Seat, batch_id: str) -> tuple[PayoutBatch, PayingOrder]:
    """Return such a batch that a Safe can pay, and its order. Raises Http404."""
    found = _whole(seat, batch_id)
    order = batch_order(found)
    if not order.takes_calls:
        raise Http404
    return found, order


def _unseen(found: PayoutBatch) -> set[str]:
    """Return the public ids of a batch's payouts that no outflow pays yet, nor seems to: one may wait to be followed.

    One that a reorg has just removed may return, and would be paid twice. Refunds whose payment is gone or in doubt are left out, too.
    """
    waiting = _waiting(found)
    seen = [*seem_paid(waiting), *may_return(waiting, since=timezone.now() - COOLING)] if waiting else []
    kept = {payout.pk for payout in seen}.union(*sourceless([payout.pk for payout in waiting]))
    return {payout.public_id for payout in waiting if payout.pk not in kept}


def _waiting(found: PayoutBatch) -> list[Payout]:
    """Return a batch's payouts that no outflow pays yet."""
    return list(found.payouts.filter(status=PayoutStatus.SENDING, movement=None))


def _file_name(found: PayoutBatch) -> str:
    return f"payouts-{found.chain}-{found.token.lower()}-{bytes(found.digest).hex()[:SHOWN_DIGITS]}"


_CANCEL_LISTED: Final = gettext_noop(
    "Do this only if nobody signed or sent it. Its payouts stay locked for a while, because a list or "
    "file that is still around can be paid. A second payment in the first days would be seen and "
    "reported, but not prevented."
)
_CANCEL_SAFE: Final = gettext_noop(
    "Do this only if your Safe did not send it. If it waits in your Safe, reject it there and execute the rejection. "
    "Then delete the file: it can be loaded again. Its payouts stay locked for a while. A second payment in the "
    "first days would be seen and reported, but not prevented."
)
_CANCEL_SIGNED: Final = gettext_noop(
    "We send nothing more of it. Its payouts stay locked until the time of what was signed is over: "
    "until then it can be paid, and after that it cannot."
)


def _cancel_words(method: Method) -> str:
    if method in ENDING:
        return gettext(_CANCEL_SIGNED)
    return gettext(_CANCEL_SAFE if method is Method.SAFE else _CANCEL_LISTED)


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
    digest, is_open = bytes(found.digest).hex(), found.status == BatchStatus.OPEN
    gone, in_doubt = sourceless([payout.pk for payout in _waiting(found)] if is_open else [])
    return {
        "batch": found,
        "rows": rows,
        "gone": [row for row in rows if statuses[row.payout_id].pk in gone],
        "in_doubt": bool(in_doubt),
        "total": readable_units(order.units, decimals),
        "total_plain": f"{from_units(order.units, decimals):f}",
        "chain": order.chain,
        "chain_id": order.chain.family.wallets_chain_id(order.chain) or hex(order.chain.chain_id or 0),
        "digest": digest,
        "digest_shown": digest[:SHOWN_DIGITS],
        "wallet": marked(found.wallet.address),
        "is_open": is_open,
        "is_cooling": found.status == BatchStatus.CANCELLED,
        "takes_calls": order.takes_calls,
        "method": Method(found.method),
        "ends": found.method in ENDING,
        "cancel_words": _cancel_words(Method(found.method)),
    }
