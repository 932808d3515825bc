"""Where a merchant's machines pay on each network, or what is missing."""

from dataclasses import dataclass
from enum import StrEnum

from accounts.states import Mode
from accounts.team.access import Seat
from wallets.chains.specs import ChainSpec
from wallets.dashboard.rows import MarkedAddress, PendingChange, marked, newest_changes, pending_of
from wallets.models import ReceivingWallet
from wallets.networks import chains
from wallets.receiving.reviews import objected_wallets
from wallets.selectors import receiving_wallets
from wallets.states import ClaimKind
from x402.payments.addresses import known_everywhere, payable_chains, settles_directly


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
class Place:
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


def places_of(seat: Seat) -> list[Place]:
    """Return a line for each of the six networks, by priority."""
    found = known_everywhere(seat.merchant.pk, seat.mode)
    changes = newest_changes(seat.merchant, ClaimKind.X402)
    objected = {wallet.chain: wallet for wallet in objected_wallets(seat.merchant.pk, ClaimKind.X402)}
    return [
        _place(seat, spec, found.get(name), pending_of(changes.get(name)), objected.get(name))
        for name, spec in chains().items()
    ]


def _place(
    seat: Seat, spec: ChainSpec, address: str | None, pending: PendingChange | None, objected: ReceivingWallet | None
) -> Place:
    missing = Missing.NOTHING if address else _missing(seat, spec)
    explorer = spec.explorer_address if address and seat.mode == Mode.LIVE else None
    return Place(
        chain=spec.name,
        title=spec.title,
        tokens=" and ".join(token.symbol for token in spec.accepted_tokens),
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
