"""The claim page `/r/<code>`. It needs no script, and whoever has its address may say where the money goes."""

from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.brand.facts import with_brand
from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.web.compact import compact_page
from gateway.core.web.languages import keep_language
from gateway.core.web.pages import count_visit, too_many, uncached
from payouts.lifecycle.claims import claimed_payout, takes_address
from payouts.lifecycle.payers import open_proof, payers_of, prove_payer, start_payer_proof
from payouts.lifecycle.recipients import LONGEST_ADDRESS, Recipient, ask_recipient
from payouts.lifecycle.service import set_address
from payouts.models import Payout
from payouts.page.build import AddressProblem, build_claim_page
from payouts.states import AddressBy
from wallets.chains.base import MISTYPED
from wallets.models import SIGNATURE_LENGTH
from wallets.receiving.inspection import OWNED

# Limits per client for one claim page.
PAGE: Final = Limit("claim.page", 60)
CLAIM: Final = Limit("claim.post", 10)

# Parts of the words with which an address is refused (`payouts.lifecycle.recipients`), and what the page says instead, in the
# reader's language.
_REFUSALS: Final = (
    (MISTYPED, AddressProblem.MISTYPED),
    ("token contract", AddressProblem.TOKEN),
    (OWNED, AddressProblem.OWNED),
    ("money sent there is lost", AddressProblem.LOST),
    ("the network keeps for itself", AddressProblem.LOST),
    ("not a wallet", AddressProblem.LOST),
    ("does not answer as a wallet", AddressProblem.LOST),
    ("is frozen", AddressProblem.LOST),
    ("has no key", AddressProblem.LOST),
    ("this gateway", AddressProblem.OURS),
    ("your own", AddressProblem.OURS),
    ("signature of this message", AddressProblem.UNSIGNED),
)
# A part of the words about a message that is over.
_SPENT: Final = "Get a new one"


@compact_page
@require_http_methods(["GET", "HEAD", "POST"])
def claim_page(request: HttpRequest, code: str) -> HttpResponse:
    """Show a payout to its recipient; a POST gives or proves its address. Raises Http404 for an unknown code."""
    try:
        count_visit(request, CLAIM if request.method == "POST" else PAGE, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    payout = _found(code)
    if request.method != "POST":
        return _show(request, payout)
    try:
        (_prove if payout.requires_proof else _claim)(request, payout)
    except errors.ConflictError as error:
        problem = AddressProblem.SPENT if _SPENT in error.message else AddressProblem.LATE
        return _show(request, _found(code), problem, status=409)
    except errors.InvalidRequestError as error:
        return _show(request, payout, problem_of(error.message), owner=owner_in(error.message), status=422)
    except errors.RateLimitError as error:
        return too_many(request, error)
    except errors.UnavailableError as error:
        return _show(request, payout, AddressProblem.UNREACHABLE, status=error.status)
    return uncached(HttpResponse(status=303), {"Location": keep_language(request.path, request)})


def problem_of(refusal: str) -> AddressProblem:
    """Return what to say about an address that was refused with these words."""
    found = (problem for words, problem in _REFUSALS if words in refusal)
    return next(found, AddressProblem.UNREADABLE)


def owner_in(refusal: str) -> str:
    """Return the wallet that owns a refused token account; empty for other refusals."""
    return refusal.partition(OWNED)[2].partition(".")[0]


def _found(code: str) -> Payout:
    payout = claimed_payout(code)
    if payout is None:
        raise Http404
    return with_brand(Payout.objects.select_related("movement")).get(pk=payout.pk)


def _claim(request: HttpRequest, payout: Payout) -> None:
    """Give the address of the form. Raises InvalidRequestError, and ConflictError where it is too late."""
    typed = request.POST.get("address", "").strip()
    # A NUL byte is part of no address, and PostgreSQL takes none.
    if len(typed) > LONGEST_ADDRESS or "\0" in typed:
        raise errors.InvalidRequestError("The address is too long.", param="address", code="address_invalid")
    chain, _, token = request.POST.get("choice", "").partition(":")
    now = timezone.now()
    recipient: Recipient | None = None
    if takes_address(payout, now=now):
        place = (chain or payout.chain, typed)
        recipient = ask_recipient(place, mode=payout.mode, asker=payout.public_id, now=now)
    set_address(payout, address=typed, chain=chain, token=token, by=AddressBy.CLAIM, recipient=recipient, now=now)


def _prove(request: HttpRequest, payout: Payout) -> None:
    """Take the signature of the form, or make the message to sign. Raises as `payouts.lifecycle.payers` does."""
    sent, now = request.POST, timezone.now()
    chain, _, token = sent.get("choice", "").partition(":")
    if "signature" not in sent:
        start_payer_proof(payout, address=sent.get("payer", "").strip(), chain=chain, token=token, now=now)
        return
    signature, public_key = sent["signature"].strip(), sent.get("public_key", "").strip()
    if len(signature) > SIGNATURE_LENGTH or len(public_key) > LONGEST_ADDRESS or "\0" in signature + public_key:
        raise errors.InvalidRequestError("This is not a signature of this message.", param="signature")
    prove_payer(payout, nonce=sent.get("nonce", ""), signature=signature, public_key=public_key, token=token, now=now)


def _show(
    request: HttpRequest,
    payout: Payout,
    problem: AddressProblem = AddressProblem.NONE,
    *,
    owner: str = "",
    status: int = 200,
) -> HttpResponse:
    now = timezone.now()
    if not problem and payout.objection and takes_address(payout, now=now):
        # Its chain was asked only after it was given.
        problem, owner = problem_of(payout.objection), owner_in(payout.objection)
    proves = payout.requires_proof and takes_address(payout, now=now)
    proof = open_proof(payout, now=now) if proves else None
    payers = payers_of(payout) if proves else []
    context = {
        "page": build_claim_page(payout, now=now, payers=payers, proof=proof),
        "problem": problem,
        "owner": owner,
        "typed_address": request.POST.get("address", "")[:LONGEST_ADDRESS],
    }
    return uncached(render(request, "payouts/claim.html", context, status=status))


@require_safe
def wallet_manifest(request: HttpRequest) -> HttpResponse:
    """Tell TON's wallets who asks them (TON Connect's manifest). A wallet in the browser reads it from its own origin.

    Claim pages may be on a host of their own: the page and its manifest have one origin, as wallets want it.
    """
    is_checkouts = request.get_host() == urlsplit(settings.CHECKOUT_HOST).netloc
    origin = settings.CHECKOUT_HOST if is_checkouts else settings.BASE_URL
    told = {"url": origin, "name": "Florin", "iconUrl": f"{origin}{static('images/florin-180.png')}"}
    return JsonResponse(told, headers={"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=3600"})
