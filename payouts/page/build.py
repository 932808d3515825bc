"""Builds the claim page's data, which its template only arranges. No clock, no HTTP.

References, metadata and other payments are not included, so the template cannot show them by mistake.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from django.conf import settings
from django.urls import reverse

from accounts.brand.facts import Brand, brand_of
from accounts.states import Mode
from gateway.core.web.numbers import readable_units
from payouts.models import Payout
from payouts.states import PayoutException, PayoutKind, PayoutStatus
from wallets.models import WalletProof
from wallets.networks import chain_spec, decimals_of, shown_address
from wallets.receiving.proofs import message_of


class ClaimStage(StrEnum):
    """What the page asks for or says."""

    OPEN = "open"
    """It asks for an address."""
    REQUESTED = "requested"
    """It has one, which can be changed."""
    SENDING = "sending"
    """The merchant approved, and pays."""
    PAID = "paid"
    REVERSED = "reversed"
    """A reorg took the money back."""
    CANCELLED = "cancelled"
    EXPIRED = "expired"


_STAGES: Final = {
    PayoutStatus.OPEN: ClaimStage.OPEN,
    PayoutStatus.REQUESTED: ClaimStage.REQUESTED,
    PayoutStatus.APPROVED: ClaimStage.SENDING,
    PayoutStatus.SENDING: ClaimStage.SENDING,
    PayoutStatus.PAID: ClaimStage.PAID,
    PayoutStatus.CANCELLED: ClaimStage.CANCELLED,
    PayoutStatus.EXPIRED: ClaimStage.EXPIRED,
}


class AddressProblem(StrEnum):
    """Why an address was refused."""

    NONE = ""
    MISTYPED = "mistyped"
    UNREADABLE = "unreadable"
    OURS = "ours"
    TOKEN = "token"  # noqa: S105
    LOST = "lost"
    # It is a token account, and its owner is known.
    OWNED = "owned"
    LATE = "late"
    # Of a payer's proof.
    UNSIGNED = "unsigned"
    SPENT = "spent"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class BrowserNetwork:
    """A chain as wallets in the browser know it; `family` and `chain_id` are empty if a page cannot ask them."""

    title: str
    family: str = ""
    chain_id: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """A chain and token that the recipient may choose. `name` is the value of the form's field."""

    name: str
    label: str
    is_chosen: bool
    network: BrowserNetwork


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """A message to sign. `address` is as wallets show it; `options` are those on its network; `network` is how wallets know that."""

    message: str
    nonce: str
    address: str
    takes_key: bool
    options: tuple[Option, ...]
    network: BrowserNetwork


@dataclass(frozen=True, slots=True)
class ClaimPage:
    """The data of the page. `amount` is for people; `address` as wallets show it, empty until it is known."""

    stage: ClaimStage
    is_refund: bool
    is_test: bool
    brand: Brand
    amount: str
    token: str
    network: BrowserNetwork
    reason: str
    address: str
    options: tuple[Option, ...]
    until: datetime | None
    tx_hash: str
    tx_url: str
    # Where TON's wallets read who asks them.
    manifest_url: str
    requires_proof: bool
    # The addresses that paid, if one of them must be proved, and the message for that, once it was asked for.
    payers: tuple[str, ...]
    proof: ProofRequest | None

    @property
    def merchant_name(self) -> str:
        """Return the merchant's name as recipients know it."""
        return self.brand.name

    @property
    def chain_name(self) -> str:
        """Return the name of the network that the money is sent on, if no other is chosen."""
        return self.network.title

    @property
    def takes_address(self) -> bool:
        """Whether the address may be given or changed."""
        return self.stage in {ClaimStage.OPEN, ClaimStage.REQUESTED}

    @property
    def asks_for_proof(self) -> bool:
        """Whether an address is to be proved, or another one can be."""
        is_choice = len(self.payers) > 1 or bool(self.options)
        return self.takes_address and self.requires_proof and (self.stage == ClaimStage.OPEN or is_choice)


def build_claim_page(
    payout: Payout, *, now: datetime, payers: Sequence[str] = (), proof: WalletProof | None = None
) -> ClaimPage:
    """Build the page of a payout whose merchant, branding and movement are loaded; `payers` and `proof` as `payouts.lifecycle.payers` has them."""
    spec = chain_spec(payout.chain)
    tx_hash = payout.movement.tx_hash if payout.movement else payout.imported_tx
    # What the network shows: a person may have accepted another amount as paid.
    units = payout.movement.units if payout.movement and payout.paid_at else payout.units
    is_live = payout.mode == Mode.LIVE
    return ClaimPage(
        stage=stage_of(payout, now=now),
        is_refund=payout.kind == PayoutKind.REFUND,
        is_test=not is_live,
        brand=brand_of(payout.merchant),
        amount=readable_units(int(units), decimals_of(payout.chain, payout.token)),
        token=payout.token,
        network=_network(payout.chain),
        reason=payout.reason,
        address=shown_address(payout.address) if payout.address else "",
        options=_options(payout.choices, (payout.chain, payout.token)),
        until=payout.claim_until,
        tx_hash=tx_hash,
        tx_url=(spec.transaction_url(tx_hash) or "") if tx_hash and is_live else "",
        manifest_url=manifest_url(),
        requires_proof=payout.requires_proof,
        payers=tuple(shown_address(address) for address in payers),
        proof=_proof_form(payout, proof) if proof is not None else None,
    )


def _proof_form(payout: Payout, proof: WalletProof) -> ProofRequest:
    spec = chain_spec(proof.chain)
    here = [choice for choice in payout.choices if choice[0] == proof.chain]
    chain_id = spec.family.accounts_chain_id(spec) if not spec.family.proof_needs_key else None
    return ProofRequest(
        message=message_of(proof),
        nonce=proof.nonce,
        address=shown_address(proof.address),
        takes_key=spec.family.proof_needs_key,
        options=_options(here, (payout.chain, payout.token)),
        network=BrowserNetwork(spec.title, spec.family.name, chain_id) if chain_id else BrowserNetwork(spec.title),
    )


def manifest_url() -> str:
    """Return where wallets of TON Connect read who asks them: at the page's own origin."""
    return f"{settings.CHECKOUT_HOST}{reverse('wallet_manifest')}"


def stage_of(payout: Payout, *, now: datetime) -> ClaimStage:
    """Return the page's stage. A link is over at its time, even before the payout is moved."""
    if payout.exception == PayoutException.REVERSED:
        return ClaimStage.REVERSED
    stage = _STAGES[PayoutStatus(payout.status)]
    is_over = payout.claim_until is not None and payout.claim_until <= now
    return ClaimStage.EXPIRED if stage == ClaimStage.OPEN and is_over else stage


def _options(choices: Sequence[Sequence[str]], present: tuple[str, str]) -> tuple[Option, ...]:
    """Return what may be chosen from; empty if there is nothing to choose."""
    if len(choices) < 2:
        return ()
    return tuple(
        Option(f"{chain}:{token}", f"{token} · {chain_spec(chain).title}", (chain, token) == present, _network(chain))
        for chain, token in choices
    )


def _network(chain: str) -> BrowserNetwork:
    spec = chain_spec(chain)
    chain_id = spec.family.accounts_chain_id(spec)
    return BrowserNetwork(spec.title, spec.family.name, chain_id) if chain_id else BrowserNetwork(spec.title)
