"""Manual settlements, with our gas or a browser wallet's, and the schedule of automatic ones."""

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.web.form_errors import words_of
from settlements.dashboard.forms import HashForm, IntervalsForm, OneTokenForm, SettleForm
from settlements.dashboard.pages import settlements_page
from settlements.dashboard.rows import amount_of
from settlements.models import Settlement
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.outcomes import open_settlements
from settlements.sweeps.plan import call_of, planned_items
from settlements.sweeps.requests import note_wallet_hash, settle_now, wallet_batch
from settlements.sweeps.schedule import set_intervals
from wallets.networks import chain_spec, chain_title
from wallets.states import ClaimKind

_NOTHING = gettext_noop(
    "Nothing can be settled now. The money is already on its way, held in escrow or not final yet, or a "
    "settlement failed and is tried again later."
)
_TEST = gettext_noop("Test mode moves no money, so there is nothing to settle.")


@seated(post=Act.RUN_PAYMENTS)
def settle(request: SeatedRequest) -> HttpResponse:
    """Settle what waits, with our own gas."""
    form = SettleForm(request.POST)
    if not form.is_valid():
        raise Http404
    seat = request.seat
    try:
        written = settle_now(
            seat.merchant.pk,
            seat.mode,
            purpose=ClaimKind(form.cleaned_data["purpose"]),
            chain=form.cleaned_data["chain"] or None,
            token=form.cleaned_data["token"] or None,
            now=timezone.now(),
            actor=actor_of(request),
        )
    except (ConflictError, InvalidRequestError) as error:
        messages.error(request, words_of(error))
        return _back(request)
    _tell(request, written)
    return _back(request)


@seated(post=Act.RUN_PAYMENTS)
def settle_by_wallet(request: SeatedRequest) -> HttpResponse:
    """Prepare the transaction for the merchant's own wallet."""
    form = OneTokenForm(request.POST)
    if not form.is_valid():
        raise Http404
    if request.seat.mode != Mode.LIVE:
        _tell(request, [])
        return _back(request)
    made = wallet_batch(
        request.seat.merchant.pk,
        purpose=ClaimKind(form.cleaned_data["purpose"]),
        chain=form.cleaned_data["chain"],
        token=form.cleaned_data["token"],
        now=timezone.now(),
        actor=actor_of(request),
    )
    if made is None:
        _tell(request, [])
        return _back(request)
    return HttpResponseRedirect(request.seat.url("dashboard_wallet_settlement", batch=made.batch))


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def wallet_settlement(request: SeatedRequest, *, batch: str) -> HttpResponse:
    """Show a batch's transaction, pass it to a browser wallet, and record its hash."""
    written = _by_wallet(request, batch)
    form = HashForm(request.POST or None)
    if request.method != "POST":
        return _ask(request, batch, written, form)
    if not form.is_valid():
        return _ask(request, batch, written, form, status=422)
    note_wallet_hash(request.seat.merchant.pk, batch, form.cleaned_data["tx_hash"].strip())
    messages.success(
        request, gettext("Saved. The settlement completes once the network shows that the money has left.")
    )
    return _back(request)


@seated(post=Act.MANAGE_RECEIVING_WALLETS)
def intervals(request: SeatedRequest) -> HttpResponse:
    """Save the schedule of automatic settlements."""
    form = IntervalsForm(request.POST)
    if not form.is_valid():
        return settlements_page(request, form, status=422)
    set_intervals(
        request.seat.merchant,
        minimum=form.cleaned_data["minimum"],
        every_hours=form.cleaned_data["every_hours"],
        actor=actor_of(request),
        now=timezone.now(),
    )
    messages.success(request, gettext("Saved."))
    return _back(request)


def _by_wallet(request: SeatedRequest, batch: str) -> list[Settlement]:
    """Return the open settlements of a batch. Raises Http404 if the merchant's wallet has nothing to send."""
    mine = open_settlements(batch).filter(merchant=request.seat.merchant, mode=request.seat.mode, sender=Sender.WALLET)
    written = list(mine.select_related("transaction"))
    if not written:
        raise Http404
    return written


def _ask(
    request: SeatedRequest, batch: str, written: list[Settlement], form: HashForm, status: int = 200
) -> HttpResponse:
    first = written[0]
    spec = chain_spec(first.chain)
    call = call_of(first.chain, first.token, planned_items(batch))
    data = f"0x{call.data.hex()}"
    context = {
        "rows": written,
        "batch": batch,
        "chain": spec,
        "chain_id": hex(spec.chain_id or 0),
        "call": call,
        "calls": [{"to": call.to, "data": data, "gas": hex(call.gas_limit)}],
        "data": data,
        "form": form,
        "is_sent": first.status == SettlementStatus.SENT,
    }
    return render(request, "dashboard/settlements/wallet.html", context, status=status)


def _tell(request: SeatedRequest, written: list[Settlement]) -> None:
    if request.seat.mode != Mode.LIVE:
        messages.warning(request, gettext(_TEST))
    elif not written:
        messages.warning(request, gettext(_NOTHING))
    else:
        said = gettext("%(amount)s on %(network)s")
        sums = [{"amount": f"{amount_of(one)} {one.token}", "network": chain_title(one.chain)} for one in written]
        told = ", ".join(said % one for one in sums)
        messages.success(request, gettext("On its way to your wallet: %(sums)s.") % {"sums": told})


def _back(request: SeatedRequest) -> HttpResponse:
    return HttpResponseRedirect(request.seat.url("dashboard_settlements"))
