"""The rows of the page of receiving wallets, one per chain, and its messages to owners."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from django.template.defaultfilters import date
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from accounts.models import Merchant
from accounts.states import Mode
from wallets.chains.family import ChainSpec
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import chain_spec, chains, shown_address
from wallets.receiving.claims import is_awaited
from wallets.receiving.inspection import objected_wallets
from wallets.states import ClaimKind

# As many characters as people compare; look-alike addresses that match at both ends are hard to forge.
_COMPARED: Final = 6


@dataclass(frozen=True, slots=True)
class MarkedAddress:
    """An address in three parts, of which people compare the first and the last."""

    first: str
    middle: str
    last: str

    def __str__(self) -> str:
        return self.first + self.middle + self.last


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A pending change."""

    id: int
    address: MarkedAddress
    requested_by: str
    requested_at: datetime
    effective_at: datetime
    # It was proven, and also waits for payments to others.
    waits_for_others: bool


@dataclass(frozen=True, slots=True)
class WalletRow:
    """A chain's row: its wallet with an explorer link, the pending change, and the last refused one.

    `proven_at` is when the wallet was proven. `taken` is the wallet that another merchant took over by a proof, if none
    replaced it; `objected` the one that its chain objects to, likewise. `is_read` is whether this installation reads the chain.
    """

    chain: str
    title: str
    tokens: str
    is_read: bool
    address: MarkedAddress | None
    since: datetime | None
    proven_at: datetime | None
    taken: ReceivingWallet | None
    objected: ReceivingWallet | None
    explorer: str
    pending: PendingChange | None
    failed_at: datetime | None
    failure: str

    @property
    def kept_words(self) -> str:
        """Return the words for what stays if the change is cancelled."""
        if self.address:
            return gettext("You go on receiving at the present wallet.")
        return gettext("You then have no wallet on this network.")


def marked(address: str) -> MarkedAddress:
    """Split an address, as wallets show it, into its bold ends and the middle."""
    address = shown_address(address)
    # Every address on EVM chains begins with 0x, so that prefix is skipped.
    start = _COMPARED + 2 if address.startswith("0x") else _COMPARED
    return MarkedAddress(address[:start], address[start:-_COMPARED], address[-_COMPARED:])


def shortened(address: str) -> str:
    """Return an address or a hash without its middle."""
    parts = marked(address)
    return f"{parts.first}…{parts.last}" if parts.middle else str(parts)


class Sent(Protocol):
    """A row with a transaction."""

    @property
    def chain(self) -> str:
        """The name of its chain."""

    @property
    def mode(self) -> str:
        """Whether it is simulated."""

    @property
    def tx_hash(self) -> str:
        """The hash, empty until it is sent."""


def explorer_url(row: Sent) -> str:
    """Return the explorer's address of a transaction; empty for simulated ones and on local networks."""
    if row.mode != Mode.LIVE or not row.tx_hash:
        return ""
    return chain_spec(row.chain).transaction_url(row.tx_hash) or ""


def wallet_rows(merchant: Merchant) -> list[WalletRow]:
    """Return a row for each chain, by priority."""
    present = ReceivingWallet.objects.of_checkouts().filter(merchant=merchant, retired_at=None)
    wallets = {wallet.chain: wallet for wallet in present.select_related("proof")}
    changes = newest_changes(merchant, ClaimKind.CHECKOUT)
    lost = _newest_taken(merchant)
    objected = {wallet.chain: wallet for wallet in objected_wallets(merchant.pk, ClaimKind.CHECKOUT)}
    return [
        _row(spec, wallets.get(name), changes.get(name), lost.get(name), objected.get(name))
        for name, spec in chains().items()
    ]


def newest_changes(merchant: Merchant, purpose: ClaimKind) -> dict[str, WalletChange]:
    """Return each chain's last requested change."""
    newest = WalletChange.objects.filter(merchant=merchant, purpose=purpose)
    rows = newest.order_by("chain", "-pk").distinct("chain")
    told = rows.select_related("merchant", "requested_by")
    return {change.chain: change for change in told}


def _newest_taken(merchant: Merchant) -> dict[str, ReceivingWallet]:
    """Return each chain's wallet that was the merchant's last, if it was taken over."""
    rows = ReceivingWallet.objects.of_checkouts().filter(merchant=merchant)
    newest = rows.order_by("chain", "-pk").distinct("chain")
    return {wallet.chain: wallet for wallet in newest if wallet.taken_over_at}


def _row(
    spec: ChainSpec,
    wallet: ReceivingWallet | None,
    change: WalletChange | None,
    lost: ReceivingWallet | None,
    objected: ReceivingWallet | None,
) -> WalletRow:
    address = wallet.address if wallet else ""
    explorer = spec.explorer_address if address else None
    return WalletRow(
        chain=spec.name,
        title=spec.title,
        tokens=gettext(" and ").join(token.symbol for token in spec.accepted_tokens),
        is_read=bool(spec.rpc_urls),
        address=marked(address) if address else None,
        since=wallet.created_at if wallet else None,
        proven_at=wallet.proof.used_at if wallet and wallet.proof else None,
        taken=None if wallet else lost,
        objected=objected,
        explorer=explorer.format(address=address) if explorer else "",
        pending=pending_of(change),
        failed_at=change.failed_at if change else None,
        failure=change.failure if change else "",
    )


def pending_of(change: WalletChange | None) -> PendingChange | None:
    """Return the page's data of a change while it waits."""
    if change is None or not change.is_open:
        return None
    return PendingChange(
        id=change.pk,
        address=marked(change.address),
        requested_by=change.requested_by.email,
        requested_at=change.requested_at,
        effective_at=change.effective_at,
        waits_for_others=waits_for_others(change),
    )


def result_message(answer: ReceivingWallet | WalletChange, spec: ChainSpec) -> str:
    """Return the message about the result of a request."""
    if isinstance(answer, WalletChange) and answer.is_open:
        if waits_for_others(answer):
            words = gettext(
                "The new %(network)s wallet takes effect once earlier payments to it have run out. All owners were told by mail."
            )
        else:
            words = gettext("The new %(network)s wallet takes effect on %(when)s UTC. All owners were told by mail.")
        when = f"{date(answer.effective_at, pgettext('team', 'j M Y'))}, {answer.effective_at:%H:%M}"
        return words % {"network": spec.title, "when": when}
    if answer.purpose == ClaimKind.X402:
        words = gettext("Machines pay this wallet on %(network)s now. All owners were told by mail.")
    else:
        words = gettext("You receive on %(network)s at %(address)s now. All owners were told by mail.")
    return words % {"network": spec.title, "address": answer.address}


def waits_for_others(change: WalletChange) -> bool:
    """Whether an open change was proven and waits for payments to others."""
    return change.proof_id is not None and is_awaited(
        change.merchant, chain=change.chain, address=change.address, now=timezone.now()
    )
