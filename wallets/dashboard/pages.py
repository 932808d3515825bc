"""The pages of a merchant's receiving wallets: current ones and pending changes."""

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.audit.actors import actor_of
from accounts.merchants.wallet_waits import set_wallet_change_hours
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError
from wallets.chains.family import ChainSpec
from wallets.dashboard.proofs import CHECKOUT_PAGES, ask_for_proof, look_up, refuse_without_factor
from wallets.dashboard.rows import marked, result_message, wallet_rows
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import chains
from wallets.receiving.changes import cancel_change, request_wallet
from wallets.receiving.claims import ProofRequiredError
from wallets.receiving.forms import ComparedForm, WaitForm, WalletForm
from wallets.receiving.inspection import Inspected
from wallets.states import ClaimKind


@seated(get=Act.SEE)
def wallets(request: SeatedRequest) -> HttpResponse:
    """Show each chain's wallet and pending change."""
    hours = request.seat.merchant.wallet_change_hours
    return _page(request, WaitForm(initial={"hours": hours}))


@seated(get=Act.MANAGE_RECEIVING_WALLETS, post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def wallet(request: SeatedRequest, *, chain: str) -> HttpResponse:
    """Ask for an address, and validate it; nothing changes yet."""
    spec = _spec(chain)
    if refusal := refuse_without_factor(request):
        return refusal
    form = WalletForm(request.POST or None, chain=chain, title=spec.title)
    if request.method != "POST":
        return _ask(request, spec, form)
    if not form.is_valid():
        return _ask(request, spec, form, status=422)
    found = look_up(request, spec, form.cleaned_data["address"], form)
    if isinstance(found, int):
        return _ask(request, spec, form, status=found)
    again = ComparedForm(initial={"address": found.address}, chain=chain, title=spec.title)
    return _compare(request, spec, again, found)


@seated(post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def set_wallet(request: SeatedRequest, *, chain: str) -> HttpResponse:
    """Set the first wallet of a chain, or request a change."""
    spec = _spec(chain)
    if refusal := refuse_without_factor(request):
        return refusal
    form = ComparedForm(request.POST, chain=chain, title=spec.title)
    typed = WalletForm(request.POST, chain=chain, title=spec.title)
    if not form.is_valid():
        if address := form.cleaned_data.get("address"):
            return _compare(request, spec, form, Inspected(address), status=422)
        return _ask(request, spec, typed, status=422)
    found = look_up(request, spec, form.cleaned_data["address"], typed)
    if isinstance(found, int):
        return _ask(request, spec, typed, status=found)
    if form.cleaned_data["sign"]:
        return ask_for_proof(request, spec, found.address, CHECKOUT_PAGES)
    if found.warning and not form.confirms():
        return _compare(request, spec, form, found, status=422)
    try:
        answer = request_wallet(
            request.seat.merchant, chain=spec.name, address=found.address, actor=actor_of(request), now=timezone.now()
        )
    except ProofRequiredError:
        return ask_for_proof(request, spec, found.address, CHECKOUT_PAGES)
    except ConflictError as error:
        typed.add_error(None, error.message)
        return _ask(request, spec, typed, status=409)
    messages.success(request, result_message(answer, spec))
    return _back(request)


@seated(post=Act.MANAGE_RECEIVING_WALLETS)
def cancel(request: SeatedRequest, *, change_id: int) -> HttpResponse:
    """Cancel a pending change. No reauthentication is needed, so that it is quick."""
    cancel_here(request, change_id, ClaimKind.CHECKOUT)
    return _back(request)


def cancel_here(request: SeatedRequest, change_id: int, purpose: ClaimKind) -> None:
    """Cancel a merchant's change for one purpose, with a message. Raises Http404 if there is none."""
    mine = WalletChange.objects.filter(merchant=request.seat.merchant, purpose=purpose)
    change = mine.filter(pk=change_id).first()
    if change is None:
        raise Http404
    try:
        cancel_change(change, actor=actor_of(request), now=timezone.now())
    except ConflictError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _cancelled(request, change))


@seated(post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def wait(request: SeatedRequest) -> HttpResponse:
    """Set how long changes wait."""
    if refusal := refuse_without_factor(request):
        return refusal
    form = WaitForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    merchant = set_wallet_change_hours(
        request.seat.merchant, hours=form.cleaned_data["hours"], now=timezone.now(), actor=actor_of(request)
    )
    if merchant.next_wallet_change_hours_at:
        messages.success(request, "The shorter wait holds once the present one is over.")
    else:
        messages.success(request, f"Changes wait {merchant.wallet_change_hours} hours.")
    return _back(request)


def _cancelled(request: SeatedRequest, change: WalletChange) -> str:
    present = ReceivingWallet.objects.filter(
        merchant=request.seat.merchant, purpose=change.purpose, chain=change.chain, retired_at=None
    )
    stays = " Your wallet stays." if present.exists() else ""
    return f"The change is cancelled.{stays}"


def _spec(chain: str) -> ChainSpec:
    spec = chains().get(chain)
    if spec is None:
        raise Http404
    return spec


def _back(request: SeatedRequest) -> HttpResponse:
    return HttpResponseRedirect(request.seat.url("dashboard_receiving_wallets"))


def _page(request: SeatedRequest, form: WaitForm, status: int = 200) -> HttpResponse:
    context = {"rows": wallet_rows(request.seat.merchant), "form": form, "merchant": request.seat.merchant}
    return render(request, "dashboard/wallets/receiving.html", context, status=status)


def _ask(request: SeatedRequest, spec: ChainSpec, form: WalletForm, status: int = 200) -> HttpResponse:
    context = {"chain": spec, "row": _row(request, spec), "form": form}
    return render(request, "dashboard/wallets/ask.html", context, status=status)


def _compare(
    request: SeatedRequest, spec: ChainSpec, form: ComparedForm, found: Inspected, status: int = 200
) -> HttpResponse:
    context = {
        "chain": spec,
        "row": _row(request, spec),
        "form": form,
        "address": marked(found.address),
        "warning": found.warning,
        "merchant": request.seat.merchant,
    }
    return render(request, "dashboard/wallets/compare.html", context, status=status)


def _row(request: SeatedRequest, spec: ChainSpec) -> object:
    rows = wallet_rows(request.seat.merchant)
    return next(row for row in rows if row.chain == spec.name)
