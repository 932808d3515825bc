"""What a merchant holds now, by network and token: in its own wallets, and in deposit addresses that pay only these."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import reduce
from typing import Final

from django.db.models import QuerySet
from django.utils.translation import gettext, gettext_noop

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.money import EXACT, from_units
from settlements.dashboard.sums import held_by_token, settleable_units
from wallets.held_now import AddressBalances, held_now
from wallets.models import ReceivingWallet, WatchedBalance, WatchedWallet
from wallets.networks import chain_spec, decimals_of, is_accepted, known_chains, shown_address, takes_from_machines
from wallets.selectors import chain_statuses
from wallets.states import ChainStatus, ClaimKind, WatchPurpose

_PLACES: Final = {
    ClaimKind.CHECKOUT: gettext_noop("Receiving wallet"),
    ClaimKind.X402: gettext_noop("Wallet for machines"),
}


@dataclass(frozen=True, slots=True)
class Holding:
    """What is held of a token at one place. `amount` is in whole tokens, None where it is unknown; `address` is a wallet's, `shown` as people
    know it.

    `as_of` is when a node told it; None if no node did, or where it follows from our own records and is of now. `is_watched` is
    whether this wallet's balance is read. `is_silent` says that no node of the network answers now.
    """

    chain: str
    chain_title: str
    token: str
    place: str
    amount: Decimal | None
    address: str = ""
    shown: str = ""
    as_of: datetime | None = None
    is_watched: bool = True
    is_silent: bool = False

    @property
    def name(self) -> str:
        """Return the token and its network."""
        return gettext("%(token)s on %(network)s") % {"token": self.token, "network": self.chain_title}


@dataclass(frozen=True, slots=True)
class Total:
    """What is known of a token at all places together, None where nothing is; and at how many places its balance is unknown."""

    token: str
    amount: Decimal | None
    unknown: int


@dataclass(frozen=True, slots=True)
class HoldingsReport:
    """All places, the totals by token, and the watched wallets at which the merchant does not receive: they may be anybody's.

    `is_unread` says that there are unwatched receiving wallets and no node was asked about them.
    """

    rows: Sequence[Holding]
    totals: Sequence[Total]
    others: Sequence[Holding]
    is_unread: bool


def holdings_of(merchant: Merchant, *, now: datetime, asks: bool = False) -> HoldingsReport:
    """Return what a merchant holds. Each row is read on its own: money on its way between two may be in both, or in neither.

    With `asks`, nodes are asked for some seconds what unwatched receiving wallets hold.
    """
    silent = {name for name, status in chain_statuses(now=now).items() if status == ChainStatus.DOWN}
    wallets = _receiving(merchant)
    watched = list(_watched(merchant))
    unwatched = wallets.keys() - {(wallet.chain, wallet.address) for wallet in watched}
    asked: dict[str, list[str]] = defaultdict(list)
    for chain, address in sorted(unwatched):
        if chain not in silent:
            asked[chain].append(address)
    told = held_now(asked, now=now) if asks else {}
    rows = [*_in_wallets(wallets, _read(watched), told, unwatched, silent), *_in_forwarders(merchant)]
    order = list(known_chains())
    rows.sort(key=lambda row: (order.index(row.chain), row.token, row.place))
    tokens = sorted({row.token for row in rows})
    totals = [_total([row for row in rows if row.token == token], token) for token in tokens]
    return HoldingsReport(rows, totals, _others(watched, wallets, silent), is_unread=bool(asked) and not asks)


def _total(rows: Sequence[Holding], token: str) -> Total:
    known = [row.amount for row in rows if row.amount is not None]
    return Total(token, reduce(EXACT.add, known) if known else None, unknown=len(rows) - len(known))


def _receiving(merchant: Merchant) -> dict[tuple[str, str], ClaimKind]:
    """Return the receiving wallets by chain and address. One of both purposes is of checkouts."""
    wallets = ReceivingWallet.objects.filter(merchant=merchant, retired_at=None).order_by("-purpose")
    return {(row.chain, row.address): ClaimKind(row.purpose) for row in wallets}


def _watched(merchant: Merchant) -> QuerySet[WatchedWallet]:
    mine = WatchedWallet.objects.filter(merchant=merchant, mode=Mode.LIVE, purpose=WatchPurpose.LIST, removed_at=None)
    return mine.order_by("pk")


def _read(watched: Sequence[WatchedWallet]) -> dict[tuple[str, str], dict[str, WatchedBalance]]:
    """Return the balances that watchers read, by chain and address, and token."""
    places = {wallet.pk: (wallet.chain, wallet.address) for wallet in watched}
    found: dict[tuple[str, str], dict[str, WatchedBalance]] = defaultdict(dict)
    for row in WatchedBalance.objects.filter(wallet__in=list(places)):
        found[places[row.wallet_id]][row.token] = row
    return found


def _in_wallets(
    wallets: Mapping[tuple[str, str], ClaimKind],
    read: Mapping[tuple[str, str], Mapping[str, WatchedBalance]],
    told: Mapping[tuple[str, str], AddressBalances],
    unwatched: Collection[tuple[str, str]],
    silent: Collection[str],
) -> Iterator[Holding]:
    for place, purpose in wallets.items():
        chain, address = place
        for token in (one for one in chain_spec(chain).tokens if takes_from_machines(chain, one)):
            units, as_of = _units(token, read.get(place, {}), told.get(place))
            # Of a token that no checkout takes, nothing is expected.
            if not units and not is_accepted(chain, token):
                continue
            yield Holding(
                chain=chain,
                chain_title=chain_spec(chain).title,
                token=token,
                place=gettext(_PLACES[purpose]),
                amount=None if units is None else from_units(units, decimals_of(chain, token)),
                address=address,
                shown=shown_address(address),
                as_of=as_of,
                is_watched=place not in unwatched,
                is_silent=chain in silent,
            )


def _units(
    token: str, read: Mapping[str, WatchedBalance], told: AddressBalances | None
) -> tuple[int | None, datetime | None]:
    """Return a balance and as of when: what a watcher read, or what a node told now; both None where it is unknown."""
    if (row := read.get(token)) is not None:
        return int(row.units), row.read_at
    return (told.units[token], told.read_at) if told is not None and token in told.units else (None, None)


def _others(
    watched: Sequence[WatchedWallet], wallets: Collection[tuple[str, str]], silent: Collection[str]
) -> list[Holding]:
    """Return what the watch-only wallets hold that are no receiving wallets: what is not zero, in the order of their list."""
    others = [wallet for wallet in watched if (wallet.chain, wallet.address) not in wallets]
    read = _read(others)
    return [
        Holding(
            chain=wallet.chain,
            chain_title=chain_spec(wallet.chain).title,
            token=token,
            place=wallet.label or gettext("Watched wallet"),
            amount=from_units(int(row.units), decimals_of(wallet.chain, token)),
            address=wallet.address,
            shown=shown_address(wallet.address),
            as_of=row.read_at,
            is_silent=wallet.chain in silent,
        )
        for wallet in others
        for token, row in sorted(read[wallet.chain, wallet.address].items())
        if row.units
    ]


def _in_forwarders(merchant: Merchant) -> Iterator[Holding]:
    for place, found in (
        (gettext("Deposit addresses"), settleable_units(merchant.pk)),
        (gettext("Escrow"), held_by_token(merchant.pk)),
    ):
        for (chain, token), units in found.items():
            if units:
                yield Holding(
                    chain, chain_spec(chain).title, token, place, from_units(units, decimals_of(chain, token))
                )
