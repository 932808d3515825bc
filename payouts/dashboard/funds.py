"""What a merchant's receiving wallet holds for the payouts of a chain and token, and what still waits in deposit addresses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from accounts.states import Mode
from accounts.team.access import Seat
from gateway.core.money import readable_units
from payouts.dashboard.rows import Funds, PayGroup
from settlements.dashboard.sums import settleable_units
from wallets.models import WatchedBalance
from wallets.networks import decimals_of
from wallets.selectors import receiving_wallets

_Place = tuple[str, str]
"""A chain and a token."""


def with_funds(seat: Seat, groups: Sequence[PayGroup]) -> list[PayGroup]:
    """Return groups of payouts with what the merchant has to pay them; unchanged in test mode, where no money moves."""
    if seat.mode != Mode.LIVE or not groups:
        return list(groups)
    balances, waiting = _balances(seat), settleable_units(seat.merchant.pk)
    return [replace(group, funds=_funds(group, balances, waiting)) for group in groups]


def _balances(seat: Seat) -> dict[_Place, int]:
    """Return the balances of those receiving wallets that are watched, in base units."""
    own = set(receiving_wallets(seat.merchant.pk).items())
    rows = WatchedBalance.objects.select_related("wallet").filter(
        wallet__merchant=seat.merchant,
        wallet__mode=seat.mode,
        wallet__removed_at=None,
        wallet__address__in=[address for _, address in own],
    )
    return {
        (row.wallet.chain, row.token): int(row.units) for row in rows if (row.wallet.chain, row.wallet.address) in own
    }


def _funds(group: PayGroup, balances: Mapping[_Place, int], waiting: Mapping[_Place, int]) -> Funds:
    place, decimals = (group.chain, group.token), decimals_of(group.chain, group.token)
    balance, rest = balances.get(place), waiting.get(place, 0)
    lacks = group.units - balance if balance is not None else 0
    return Funds(
        balance="" if balance is None else readable_units(balance, decimals),
        short=readable_units(lacks, decimals) if lacks > 0 else "",
        waiting=readable_units(rest, decimals) if rest else "",
    )
