"""Sets the wallets that machines pay on chains without forwarders, after the owner compared the address."""

from typing import Final

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError
from wallets.chains.family import ChainSpec
from wallets.dashboard.pages import cancel_here
from wallets.dashboard.proofs import ProofPages, ask_for_proof, look_up, proof_page, refuse_without_factor
from wallets.dashboard.rows import marked, result_message
from wallets.networks import chains
from wallets.receiving.changes import request_wallet
from wallets.receiving.claims import ProofRequiredError
from wallets.receiving.forms import ComparedForm, WalletForm
from wallets.receiving.inspection import Inspected
from wallets.states import ClaimKind
from x402.payments.addresses import known_pay_to, settles_directly

_PAGES: Final = ProofPages(
    ClaimKind.X402,
    ask="dashboard_x402_wallet",
    set="dashboard_set_x402_wallet",
    prove="dashboard_prove_x402_wallet",
    done="dashboard_x402_setup",
)


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
    """Make machines pay the address from now on."""
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
        return ask_for_proof(request, spec, found.address, _PAGES)
    if found.warning and not form.confirms():
        return _compare(request, spec, form, found, status=422)
    try:
        answer = request_wallet(
            request.seat.merchant,
            chain=chain,
            address=found.address,
            actor=actor_of(request),
            now=timezone.now(),
            purpose=ClaimKind.X402,
        )
    except ProofRequiredError:
        return ask_for_proof(request, spec, found.address, _PAGES)
    except ConflictError as error:
        typed.add_error(None, error.message)
        return _ask(request, spec, typed, status=409)
    messages.success(request, result_message(answer, spec))
    return _back(request)


@seated(get=Act.MANAGE_RECEIVING_WALLETS, post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def prove(request: SeatedRequest, *, proof_id: int) -> HttpResponse:
    """Show the message that proves a wallet, and take its signature."""
    return proof_page(request, proof_id, _PAGES)


@seated(post=Act.MANAGE_RECEIVING_WALLETS)
def cancel(request: SeatedRequest, *, change_id: int) -> HttpResponse:
    """Cancel a wallet that waits for payments to others."""
    cancel_here(request, change_id, ClaimKind.X402)
    return _back(request)


def _back(request: SeatedRequest) -> HttpResponse:
    return HttpResponseRedirect(request.seat.url("dashboard_x402_setup"))


def _spec(chain: str) -> ChainSpec:
    """Return a network whose machines pay a wallet. Raises Http404 for any other."""
    spec = chains().get(chain)
    if spec is None or not settles_directly(chain):
        raise Http404
    return spec


def _ask(request: SeatedRequest, spec: ChainSpec, form: WalletForm, status: int = 200) -> HttpResponse:
    present = known_pay_to(request.seat.merchant.pk, Mode.LIVE, spec.name)
    context = {"chain": spec, "form": form, "present": marked(present) if present else None}
    return render(request, "dashboard/x402/wallet.html", context, status=status)


def _compare(
    request: SeatedRequest, spec: ChainSpec, form: ComparedForm, found: Inspected, status: int = 200
) -> HttpResponse:
    context = {"chain": spec, "form": form, "address": marked(found.address), "warning": found.warning}
    return render(request, "dashboard/x402/compare.html", context, status=status)
