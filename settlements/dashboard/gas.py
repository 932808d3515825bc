"""The gas account's box: balance on each chain, today's cost, and limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from settlements.gas.keys import gas_keys
from settlements.gas.ledger import spent_since
from settlements.gas.policy import COIN, gas_policy
from settlements.models import GasAccount
from settlements.sweeps.turns import forwarder_chains
from wallets.chains.specs import ChainSpec

_DAY: Final = timedelta(days=1)
# Six decimals of a coin are less than a cent anywhere.
_SHOWN: Final = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class GasRow:
    """A gas account on a chain, in coins. `balance` is None until the chain was asked."""

    chain: str
    chain_title: str
    coin: str
    address: str
    balance: Decimal | None
    balance_at: datetime | None
    low: Decimal
    spent: Decimal
    limit: Decimal

    @property
    def is_low(self) -> bool:
        """Whether the balance is running low."""
        return self.balance is not None and self.balance < self.low

    @property
    def is_spent(self) -> bool:
        """Whether the day's limit is reached."""
        return self.spent >= self.limit


def has_key() -> bool:
    """Return whether this installation pays for gas itself."""
    return bool(gas_keys())


def gas_rows(*, now: datetime) -> list[GasRow]:
    """Return a row for each gas account on each chain with forwarders; none without a key."""
    keys = sorted(gas_keys())
    accounts = {(account.chain, account.address): account for account in GasAccount.objects.filter(address__in=keys)}
    return [
        _row(spec, address, accounts.get((spec.name, address)), spent)
        for spec, spent in _spent(forwarder_chains() if keys else [], now)
        for address in keys
    ]


def _spent(specs: Sequence[ChainSpec], now: datetime) -> list[tuple[ChainSpec, int]]:
    return [(spec, spent_since(spec.name, now - _DAY)) for spec in specs]


def _row(spec: ChainSpec, address: str, account: GasAccount | None, spent: int) -> GasRow:
    policy = gas_policy(spec.name)
    wei = account.balance_wei if account else None
    return GasRow(
        chain=spec.name,
        chain_title=spec.title,
        coin=spec.coin,
        address=address,
        balance=None if wei is None else coins(int(wei)),
        balance_at=account.balance_at if account else None,
        low=coins(policy.low),
        spent=coins(spent),
        limit=coins(policy.daily),
    )


def coins(wei: int) -> Decimal:
    """Return wei as whole coins, to a millionth."""
    return (Decimal(wei) / COIN).quantize(_SHOWN).normalize() + 0
