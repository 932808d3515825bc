"""What a merchant holds now, by network and token: in its own wallets, and in deposit addresses that pay only these."""

from collections.abc import Iterator, Sequence
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
from wallets.models import ReceivingWallet, WatchedBalance, WatchedWallet
from wallets.networks import chain_spec, is_accepted, known_chains, shown_address
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
class Holdings:
    """All places, and the totals by token."""

    rows: Sequence[Holding]
    totals: Sequence[Total]


def holdings_of(merchant: Merchant, *, now: datetime) -> Holdings:
    """Return what a merchant holds. Each row is read by itself: money on its way between two may be in both, or in neither."""
    silent = {name for name, status in chain_statuses(now=now).items() if status == ChainStatus.DOWN}
    rows = [*_in_wallets(merchant, silent), *_in_forwarders(merchant)]
    order = list(known_chains())
    rows.sort(key=lambda row: (order.index(row.chain), row.token, row.place))
    tokens = sorted({row.token for row in rows})
    return Holdings(rows, [_total([row for row in rows if row.token == token], token) for token in tokens])


def _total(rows: Sequence[Holding], token: str) -> Total:
    known = [row.amount for row in rows if row.amount is not None]
    return Total(token, reduce(EXACT.add, known) if known else None, unknown=len(rows) - len(known))


def _in_wallets(merchant: Merchant, silent: set[str]) -> Iterator[Holding]:
    wallets = {
        (row.chain, row.address): ClaimKind(row.purpose)
        for row in ReceivingWallet.objects.filter(merchant=merchant, retired_at=None).order_by("-purpose")
    }
    addresses = [address for _, address in wallets]
    watched = set(_watched(merchant, addresses).values_list("chain", "address"))
    read = {
        (row.wallet.chain, row.wallet.address, row.token): row
        for row in WatchedBalance.objects.filter(wallet__in=_watched(merchant, addresses)).select_related("wallet")
    }
    for (chain, address), purpose in wallets.items():
        for token in (symbol for symbol in chain_spec(chain).tokens if is_accepted(chain, symbol)):
            balance = read.get((chain, address, token))
            yield Holding(
                chain=chain,
                chain_title=chain_spec(chain).title,
                token=token,
                place=gettext(_PLACES[purpose]),
                amount=None if balance is None else from_units(balance.units),
                address=address,
                shown=shown_address(address),
                as_of=None if balance is None else balance.read_at,
                is_watched=(chain, address) in watched,
                is_silent=chain in silent,
            )


def _watched(merchant: Merchant, addresses: Sequence[str]) -> QuerySet[WatchedWallet]:
    return WatchedWallet.objects.filter(
        merchant=merchant, mode=Mode.LIVE, purpose=WatchPurpose.LIST, removed_at=None, address__in=addresses
    )


def _in_forwarders(merchant: Merchant) -> Iterator[Holding]:
    for place, found in (
        (gettext("Deposit addresses"), settleable_units(merchant.pk)),
        (gettext("Escrow"), held_by_token(merchant.pk)),
    ):
        for (chain, token), units in found.items():
            if units:
                yield Holding(chain, chain_spec(chain).title, token, place, from_units(units))
