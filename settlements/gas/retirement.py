"""Takes a gas key out of use: its accounts get no new transactions, and the key is needed until the last one is final."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from settlements.errors import NoGasError
from settlements.gas.keys import gas_keys
from settlements.gas.policy import COIN
from settlements.models import GasAccount
from settlements.states import ON_THEIR_WAY


@dataclass(frozen=True, slots=True)
class Leaving:
    """A gas account that is retired, or has no key any more: its pending transactions, and the coins left there."""

    chain: str
    address: str
    has_key: bool
    open: int
    coins: Decimal | None


@transaction.atomic
def retire(address: str, *, chains: Sequence[str], now: datetime, dry_run: bool = False) -> int:
    """Give a key's accounts no new transactions on these chains; return how many accounts are newly retired.

    Raises NoGasError if it is no key of GAS_KEYS, or if the others are retired too.
    """
    keys = {key.lower(): key for key in gas_keys()}
    mine = keys.pop(address.lower(), None)
    if mine is None:
        raise NoGasError(f"GAS_KEYS has no key of {address}")
    accounts = GasAccount.objects.filter(address__in=keys.values())
    retired = set(accounts.exclude(retired_at=None).values_list("chain", "address"))
    for chain in chains:
        if all((chain, key) in retired for key in keys.values()):
            raise NoGasError(f"no other key would be left on {chain}: add a new one to GAS_KEYS first")
    mine_retired = _accounts_of(mine, chains).exclude(retired_at=None).count()
    if not dry_run:
        for chain in chains:
            GasAccount.objects.get_or_create(chain=chain, address=mine)
        _accounts_of(mine, chains).filter(retired_at=None).update(retired_at=now)
    return len(chains) - mine_retired


def _accounts_of(address: str, chains: Sequence[str]) -> QuerySet[GasAccount]:
    return GasAccount.objects.filter(address=address, chain__in=chains)


def leaving() -> Sequence[Leaving]:
    """Return the accounts that are retired or lack their key, by address and chain."""
    return list(_leaving())


def _leaving() -> Iterator[Leaving]:
    keys = gas_keys()
    found = GasAccount.objects.filter(~Q(retired_at=None) | ~Q(address__in=keys))
    pending = Count("transactions", filter=Q(transactions__state__in=ON_THEIR_WAY))
    for account in found.annotate(open=pending).order_by("address", "chain"):
        wei = account.balance_wei
        yield Leaving(
            chain=account.chain,
            address=account.address,
            has_key=account.address in keys,
            open=account.open,
            coins=None if wei is None else wei / COIN,
        )
