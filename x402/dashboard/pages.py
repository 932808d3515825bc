"""The x402 pages: machines' payments, the places where they pay, requirements, and examples for resource servers."""

import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.pagination import keyset_page
from gateway.core.exports import csv_response
from gateway.core.web.lists import FilterChoice, FilterForm
from settlements.dashboard.rows import has_key
from wallets.chains.family import ChainSpec
from wallets.dashboard.rows import MarkedAddress, PendingChange, marked, newest_changes, pending_of
from wallets.models import ReceivingWallet
from wallets.networks import chain_choices, chains, machine_token_choices
from wallets.receiving.inspection import objected_wallets
from wallets.selectors import receiving_wallets
from wallets.states import ClaimKind
from x402.dashboard.sums import machine_sums
from x402.models import X402Payment
from x402.payments.addresses import (
    known_everywhere,
    known_pay_to,
    pay_to_everywhere,
    payable_chains,
    requires_signature,
    set_requirements,
    settles_directly,
)
from x402.selectors import PaymentFilter, payments_of
from x402.serializers import CSV_HEADER, csv_rows
from x402.states import PaymentStatus

EXAMPLE_CHAIN: Final = "base"
_PAYER: Final = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
_NOWHERE: Final = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


class Missing(StrEnum):
    """Why machines cannot pay on a network."""

    NOTHING = ""
    # This installation has no node for it.
    NODE = "node"
    # Forwarders pay the merchant's receiving wallet, but none is set.
    RECEIVING_WALLET = "receiving_wallet"
    # The forwarder contracts are not deployed, or were not checked yet.
    FACTORY = "factory"
    # A wallet for machines only, on chains without forwarders.
    WALLET = "wallet"
    # Only a request for the address is missing: viewing creates none.
    FORWARDER = "forwarder"


@dataclass(frozen=True, slots=True)
class MachineNetwork:
    """A network. `is_own_wallet` says that machines pay a wallet set by the merchant, not a forwarder."""

    chain: str
    title: str
    tokens: str
    address: MarkedAddress | None
    explorer: str
    is_own_wallet: bool
    missing: Missing
    # A proven wallet that waits for payments to others.
    pending: PendingChange | None = None
    # The wallet that its chain objects to, if no other replaced it.
    objected: ReceivingWallet | None = None


def places_of(seat: Seat) -> list[MachineNetwork]:
    """Return a line for each network, by priority."""
    found = known_everywhere(seat.merchant.pk, seat.mode)
    changes = newest_changes(seat.merchant, ClaimKind.X402)
    objected = {wallet.chain: wallet for wallet in objected_wallets(seat.merchant.pk, ClaimKind.X402)}
    return [
        _place(seat, spec, found.get(name), pending_of(changes.get(name)), objected.get(name))
        for name, spec in chains().items()
    ]


def _place(
    seat: Seat, spec: ChainSpec, address: str | None, pending: PendingChange | None, objected: ReceivingWallet | None
) -> MachineNetwork:
    missing = Missing.NOTHING if address else _missing(seat, spec)
    explorer = spec.explorer_address if address and seat.mode == Mode.LIVE else None
    return MachineNetwork(
        chain=spec.name,
        title=spec.title,
        tokens=gettext(" and ").join(token.symbol for token in spec.machine_tokens),
        address=marked(address) if address else None,
        explorer=explorer.format(address=address) if explorer else "",
        is_own_wallet=settles_directly(spec.name),
        missing=missing,
        pending=pending,
        objected=objected,
    )


def _missing(seat: Seat, spec: ChainSpec) -> Missing:
    if not spec.rpc_urls:
        return Missing.NODE
    if settles_directly(spec.name):
        return Missing.WALLET
    if spec.name not in receiving_wallets(seat.merchant.pk):
        return Missing.RECEIVING_WALLET
    has_factory = spec.name in payable_chains()
    return Missing.FORWARDER if has_factory else Missing.FACTORY


class MachineFilters(FilterForm[X402Payment]):
    """The filters of the list: network, token and status."""

    chain = FilterChoice(_("Network"), chain_choices, everything=_("Any network"))
    token = FilterChoice(_("Token"), machine_token_choices, everything=_("Any token"))
    status = FilterChoice(
        _("Status"), [(status, status.badge.word) for status in PaymentStatus], everything=_("Any status")
    )


class Snippet(NamedTuple):
    """A title, and the code."""

    label: str
    code: str


_CONFIG: Final = """\
curl {api}/config \\
  -H "Authorization: Bearer $FLORIN_KEY"
"""

_VERIFY: Final = """\
curl {api}/verify \\
  -H "Authorization: Bearer $FLORIN_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{
    "payment": {{
      "txHash": "{tx_hash}",
      "chain": "{chain}", "token": "{token}", "amount": "0.01",
      "payerAddress": "{payer}",
      "payTo": "{pay_to}"
    }},
    "requirements": {{
      "scheme": "exact", "network": "{chain}", "maxAmountRequired": "0.01",
      "asset": "{token}", "resource": "https://api.example.com/report"
    }}
  }}'
"""

_MIDDLEWARE: Final = """\
# The package florin-x402: clients/python in Florin's repository.
import os

from florin_x402 import Config
from florin_x402.asgi import X402Asgi  # for Django and WSGI too

app = X402Asgi(
    app,
    Config(
        url="{api}",
        key=os.environ["FLORIN_KEY"],
        prices={{"/report": "0.01"}},
    ),
)
"""


def verify_call(pay_to: str | None) -> str:
    """Return the call that verifies a payment on Base; with a test key and a test address it works unchanged."""
    return _VERIFY.format(
        api=_api(),
        # A random hash: a payment counts once, also in test mode.
        tx_hash=f"0x{secrets.token_hex(32)}",
        chain=EXAMPLE_CHAIN,
        token="USDC",  # noqa: S106 - a token of money, no secret
        payer=_PAYER,
        pay_to=pay_to or _NOWHERE,
    )


def snippets(pay_to: str | None) -> tuple[Snippet, ...]:
    """Return all examples; `pay_to` is where machines pay on Base."""
    return (
        Snippet(gettext("Where to pay"), _CONFIG.format(api=_api())),
        Snippet(gettext("Verify a payment"), verify_call(pay_to)),
        Snippet(gettext("Python middleware"), _MIDDLEWARE.format(api=_api())),
    )


def _api() -> str:
    return f"{settings.BASE_URL}/api/v1/x402"


@seated(get=Act.SEE)
def payments(request: SeatedRequest) -> HttpResponse:
    """Show machines' payments, newest first, and how much is settled."""
    seat, filters = request.seat, MachineFilters(request.GET)
    page = keyset_page(filters.filter(_mine(seat)), request.GET.dict())
    places = places_of(seat)
    context = {
        "filters": filters,
        "rows": page.rows,
        "pager": page,
        "here": "payments",
        "sums": machine_sums(seat),
        "has_key": has_key(),
        "is_payable": any(place.address for place in places),
        "export": filters.query(),
        "call": verify_call(known_pay_to(seat.merchant.pk, Mode.TEST, EXAMPLE_CHAIN)),
    }
    return render(request, "dashboard/x402/payments.html", context)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send all payments of a list as CSV."""
    seat = request.seat
    rows = csv_rows(MachineFilters(request.GET).filter(_mine(seat)))
    return csv_response(f"x402-{seat.mode}", CSV_HEADER, rows)


@seated(get=Act.SEE)
def setup(request: SeatedRequest) -> HttpResponse:
    """Show where machines pay, what is missing, and how to set up a resource server."""
    seat = request.seat
    places = places_of(seat)
    context = {
        "here": "setup",
        "places": places,
        "snippets": snippets(_on_base(places)),
        "requires_signature": requires_signature(seat.merchant.pk),
    }
    return render(request, "dashboard/x402/setup.html", context)


@seated(post=Act.RUN_PAYMENTS)
def forwarders(request: SeatedRequest) -> HttpResponse:
    """Create the forwarders that machines pay, on all networks that can have them."""
    pay_to_everywhere(request.seat.merchant.pk, request.seat.mode)
    return HttpResponseRedirect(request.seat.url("dashboard_x402_setup"))


@seated(post=Act.MANAGE_WEBHOOKS)
def signature(request: SeatedRequest) -> HttpResponse:
    """Set whether a proof by hash needs the payer's signature."""
    wanted = request.POST.get("required") == "yes"
    set_requirements(request.seat.merchant, requires_signature=wanted, actor=actor_of(request), now=timezone.now())
    told = (
        gettext("From now on a hash is accepted only with the payer's signature.")
        if wanted
        else gettext("From now on the first request with a hash may use it.")
    )
    messages.success(request, told)
    return HttpResponseRedirect(request.seat.url("dashboard_x402_setup"))


def _mine(seat: Seat) -> QuerySet[X402Payment]:
    return payments_of(PaymentFilter(seat.merchant.pk, seat.mode))


def _on_base(places: list[MachineNetwork]) -> str | None:
    return next((str(place.address) for place in places if place.chain == EXAMPLE_CHAIN and place.address), None)
