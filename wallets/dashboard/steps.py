"""The steps in which an owner sets a wallet, of checkouts or of machines: its address, the comparison, and the proof of its key."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from accounts.audit.actors import actor_of
from accounts.freshness import needs_proof
from accounts.states import Mode
from accounts.team.access import SeatedRequest
from accounts.team.operators import has_factor
from gateway.core.api.errors import ConflictError, InvalidRequestError, RateLimitError, UnavailableError
from gateway.core.web.form_errors import words_of
from wallets.chains.family import ChainSpec
from wallets.dashboard.rows import marked, result_message
from wallets.models import ReceivingWallet, Transfer, WalletProof
from wallets.networks import chain_spec, chains
from wallets.receiving.changes import request_wallet
from wallets.receiving.claims import ProofRequiredError
from wallets.receiving.forms import ComparedForm, ProofForm, WalletForm
from wallets.receiving.inspection import Inspected, inspect
from wallets.receiving.proofs import message_of, prove_wallet, start_proof
from wallets.states import ClaimKind


@dataclass(frozen=True, slots=True)
class WalletPages:
    """The pages on which wallets of one purpose are set.

    Routes: address form, setting, proof, and list. Templates: of the address form, and of the comparison; `context` is what
    they show of the chain's present wallet.
    """

    purpose: ClaimKind
    ask: str
    set: str
    prove: str
    done: str
    ask_template: str
    compare_template: str
    context: Callable[[SeatedRequest, ChainSpec], dict[str, object]]


_NEEDS_FACTOR: Final = gettext_noop(
    "All receiving wallets after the first one need a second factor, also on other networks: set up an "
    "authenticator app or a passkey, then come back."
)


def refuse_without_factor(request: SeatedRequest) -> HttpResponse | None:
    """Return a redirect to where the owner sets up a second factor, if a change of wallets needs one; else None.

    It is needed once the merchant had a wallet on any chain, or was paid; and whenever the owner has one: a stolen login
    adds no wallet on another chain. A developer's own chains need none. Raises ReauthenticationRequired if its last use is
    old.
    """
    merchant, user = request.seat.merchant, request.user
    if not any(not spec.is_local for spec in chains().values()):
        return None
    any_wallet = ReceivingWallet.objects.filter(merchant=merchant)
    paid = Transfer.objects.filter(merchant=merchant, mode=Mode.LIVE)
    if not has_factor(user):
        if not any_wallet.exists() and not paid.exists():
            return None
        messages.warning(request, gettext(_NEEDS_FACTOR))
        return HttpResponseRedirect(reverse("account_security"))
    if needs_proof(request, now=timezone.now(), by_factor=True):
        raise ReauthenticationRequired
    return None


def look_up(request: SeatedRequest, spec: ChainSpec, address: str, form: WalletForm) -> Inspected | int:
    """Return what an address is on its chain; or the page's status, and the form has the error."""
    try:
        return inspect(spec.name, address, now=timezone.now(), asker=str(request.seat.merchant.pk))
    except InvalidRequestError as error:
        form.add_error("address", words_of(error))
        return 422
    except (RateLimitError, UnavailableError) as error:
        form.add_error("address", words_of(error))
        return error.status


def address_page(request: SeatedRequest, spec: ChainSpec, pages: WalletPages) -> HttpResponse:
    """Ask for an address, and validate it; nothing changes yet."""
    if refusal := refuse_without_factor(request):
        return refusal
    form = WalletForm(request.POST or None, chain=spec.name, title=spec.title)
    if request.method != "POST":
        return _ask(request, spec, form, pages)
    if not form.is_valid():
        return _ask(request, spec, form, pages, status=422)
    found = look_up(request, spec, form.cleaned_data["address"], form)
    if isinstance(found, int):
        return _ask(request, spec, form, pages, status=found)
    again = ComparedForm(initial={"address": found.address}, chain=spec.name, title=spec.title)
    return _compare(request, spec, again, found, pages)


def set_page(request: SeatedRequest, spec: ChainSpec, pages: WalletPages) -> HttpResponse:
    """Set the wallet that was compared, or request the change, or ask for a proof."""
    if refusal := refuse_without_factor(request):
        return refusal
    form = ComparedForm(request.POST, chain=spec.name, title=spec.title)
    typed = WalletForm(request.POST, chain=spec.name, title=spec.title)
    if not form.is_valid():
        if address := form.cleaned_data.get("address"):
            return _compare(request, spec, form, Inspected(address), pages, status=422)
        return _ask(request, spec, typed, pages, status=422)
    found = look_up(request, spec, form.cleaned_data["address"], typed)
    if isinstance(found, int):
        return _ask(request, spec, typed, pages, status=found)
    if form.cleaned_data["sign"]:
        return ask_for_proof(request, spec, found.address, pages)
    if found.warning and not form.confirms():
        return _compare(request, spec, form, found, pages, status=422)
    try:
        answer = request_wallet(
            request.seat.merchant,
            chain=spec.name,
            address=found.address,
            actor=actor_of(request),
            now=timezone.now(),
            purpose=pages.purpose,
        )
    except ProofRequiredError:
        return ask_for_proof(request, spec, found.address, pages)
    except ConflictError as error:
        typed.add_error(None, words_of(error))
        return _ask(request, spec, typed, pages, status=409)
    messages.success(request, result_message(answer, spec))
    return HttpResponseRedirect(request.seat.url(pages.done))


def ask_for_proof(request: SeatedRequest, spec: ChainSpec, address: str, pages: WalletPages) -> HttpResponse:
    """Create a message to sign, and redirect to its page."""
    proof = start_proof(
        request.seat.merchant,
        chain=spec.name,
        address=address,
        actor=actor_of(request),
        now=timezone.now(),
        purpose=pages.purpose,
    )
    return HttpResponseRedirect(request.seat.url(pages.prove, proof_id=proof.pk))


def proof_page(request: SeatedRequest, proof_id: int, pages: WalletPages) -> HttpResponse:
    """Return the page of an open proof. Raises Http404 if it is not the merchant's, for this purpose."""
    mine = WalletProof.objects.select_related("merchant").filter(
        merchant=request.seat.merchant, purpose=pages.purpose, used_at=None
    )
    proof = mine.filter(pk=proof_id).first()
    if proof is None:
        raise Http404
    if refusal := refuse_without_factor(request):
        return refusal
    form = ProofForm(request.POST or None, takes_key=_takes_key(proof))
    if request.method != "POST":
        return _proof(request, proof, form, pages)
    if not form.is_valid():
        return _proof(request, proof, form, pages, status=422)
    try:
        answer = prove_wallet(
            proof,
            signature=form.cleaned_data["signature"],
            public_key=form.cleaned_data.get("public_key", ""),
            actor=actor_of(request),
            now=timezone.now(),
        )
    except InvalidRequestError as error:
        form.add_error("signature", words_of(error))
        return _proof(request, proof, form, pages, status=422)
    except (ConflictError, RateLimitError, UnavailableError) as error:
        form.add_error(None, words_of(error))
        return _proof(request, proof, form, pages, status=error.status)
    messages.success(request, result_message(answer, chain_spec(proof.chain)))
    return HttpResponseRedirect(request.seat.url(pages.done))


def _ask(
    request: SeatedRequest, spec: ChainSpec, form: WalletForm, pages: WalletPages, status: int = 200
) -> HttpResponse:
    context = {**pages.context(request, spec), "chain": spec, "form": form}
    return render(request, pages.ask_template, context, status=status)


def _compare(
    request: SeatedRequest, spec: ChainSpec, form: ComparedForm, found: Inspected, pages: WalletPages, status: int = 200
) -> HttpResponse:
    shown = {"chain": spec, "form": form, "address": marked(found.address), "warning": found.warning}
    return render(request, pages.compare_template, {**pages.context(request, spec), **shown}, status=status)


def _takes_key(proof: WalletProof) -> bool:
    return chain_spec(proof.chain).family.proof_needs_key


def _proof(
    request: SeatedRequest, proof: WalletProof, form: ProofForm, pages: WalletPages, status: int = 200
) -> HttpResponse:
    spec = chain_spec(proof.chain)
    context = {
        "chain": spec,
        "proof": proof,
        "form": form,
        "address": marked(proof.address),
        "message": message_of(proof),
        "is_open": proof.is_open(now=timezone.now()),
        "how": spec.family.proof_hint,
        "action": request.seat.url(pages.prove, proof_id=proof.pk),
        "ask": request.seat.url(pages.ask, chain=spec.name),
        "set": request.seat.url(pages.set, chain=spec.name),
    }
    return render(request, "dashboard/wallets/prove.html", context, status=status)
