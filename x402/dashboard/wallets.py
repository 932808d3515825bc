"""Sets the wallets that machines pay on chains without forwarders, after the owner compared the address."""

from typing import Final

from django.http import Http404, HttpResponse, HttpResponseRedirect

from accounts.states import Mode
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from wallets.chains.family import ChainSpec
from wallets.dashboard.pages import cancel_here
from wallets.dashboard.rows import marked
from wallets.dashboard.steps import WalletPages, address_page, proof_page, set_page
from wallets.networks import chains
from wallets.states import ClaimKind
from x402.payments.addresses import known_pay_to, settles_directly


@seated(get=Act.MANAGE_RECEIVING_WALLETS, post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def wallet(request: SeatedRequest, *, chain: str) -> HttpResponse:
    """Ask for an address, and validate it; nothing changes yet."""
    return address_page(request, _spec(chain), _PAGES)


@seated(post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def set_wallet(request: SeatedRequest, *, chain: str) -> HttpResponse:
    """Make machines pay the address from now on."""
    return set_page(request, _spec(chain), _PAGES)


@seated(get=Act.MANAGE_RECEIVING_WALLETS, post=Act.MANAGE_RECEIVING_WALLETS, fresh=True)
def prove(request: SeatedRequest, *, proof_id: int) -> HttpResponse:
    """Show the message that proves a wallet, and take its signature."""
    return proof_page(request, proof_id, _PAGES)


@seated(post=Act.MANAGE_RECEIVING_WALLETS)
def cancel(request: SeatedRequest, *, change_id: int) -> HttpResponse:
    """Cancel a wallet that waits for payments to others."""
    cancel_here(request, change_id, ClaimKind.X402)
    return HttpResponseRedirect(request.seat.url(_PAGES.done))


def _spec(chain: str) -> ChainSpec:
    """Return a network whose machines pay a wallet. Raises Http404 for any other."""
    spec = chains().get(chain)
    if spec is None or not settles_directly(chain):
        raise Http404
    return spec


def _present(request: SeatedRequest, spec: ChainSpec) -> dict[str, object]:
    present = known_pay_to(request.seat.merchant.pk, Mode.LIVE, spec.name)
    return {"present": marked(present) if present else None}


_PAGES: Final = WalletPages(
    ClaimKind.X402,
    ask="dashboard_x402_wallet",
    set="dashboard_set_x402_wallet",
    prove="dashboard_prove_x402_wallet",
    done="dashboard_x402_setup",
    ask_template="dashboard/x402/wallet.html",
    compare_template="dashboard/x402/compare.html",
    context=_present,
)
