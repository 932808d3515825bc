"""The pages of a merchant's receiving wallets: current ones and pending changes."""

from typing import Final

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext

from accounts.audit.actors import actor_of
from accounts.merchants.wallet_waits import set_wallet_change_hours
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError
from gateway.core.web.form_errors import words_of
from wallets.chains.family import ChainSpec
from wallets.dashboard.rows import wallet_rows
from wallets.dashboard.steps import WalletPages, address_page, proof_page, refuse_without_factor, set_page
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import chains
from wallets.receiving.changes import cancel_change
from wallets.receiving.forms import WaitForm
from wallets.states import ClaimKind


@seated(get=Act.SEE)
def wallets(request: SeatedRequest) -> HttpResponse:
    """Show each chain's wallet and pending change."""
    hours = request.seat.merchant.wallet_change_hours
    return _page(request, WaitForm(initial={"hours": hours}))


@seated(get=Act.MANAGE_RECEIVING_WALLETS, post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def wallet(request: SeatedRequest, *, chain: str) -> HttpResponse:
    """Ask for an address, and validate it; nothing changes yet."""
    return address_page(request, _spec(chain), _PAGES)


@seated(post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def set_wallet(request: SeatedRequest, *, chain: str) -> HttpResponse:
    """Set the first wallet of a chain, or request a change."""
    return set_page(request, _spec(chain), _PAGES)


@seated(get=Act.MANAGE_RECEIVING_WALLETS, post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def prove(request: SeatedRequest, *, proof_id: int) -> HttpResponse:
    """Show the message to sign; a POST submits its signature."""
    return proof_page(request, proof_id, _PAGES)


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
        messages.error(request, words_of(error))
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
        messages.success(request, gettext("The shorter wait holds once the present one is over."))
    else:
        hours = merchant.wallet_change_hours
        messages.success(request, gettext("Changes wait %(count)s hours.") % {"count": hours})
    return _back(request)


def _cancelled(request: SeatedRequest, change: WalletChange) -> str:
    present = ReceivingWallet.objects.filter(
        merchant=request.seat.merchant, purpose=change.purpose, chain=change.chain, retired_at=None
    )
    if present.exists():
        return gettext("The change is cancelled. Your wallet stays.")
    return gettext("The change is cancelled.")


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


def _present(request: SeatedRequest, spec: ChainSpec) -> dict[str, object]:
    merchant = request.seat.merchant
    row = next(row for row in wallet_rows(merchant) if row.chain == spec.name)
    return {"row": row, "merchant": merchant}


_PAGES: Final = WalletPages(
    ClaimKind.CHECKOUT,
    ask="dashboard_receiving_wallet",
    set="dashboard_set_receiving_wallet",
    prove="dashboard_prove_receiving_wallet",
    done="dashboard_receiving_wallets",
    ask_template="dashboard/wallets/ask.html",
    compare_template="dashboard/wallets/compare.html",
    context=_present,
)
