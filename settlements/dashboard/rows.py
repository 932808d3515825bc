"""The labels, texts and numbers that templates of settlements and of the gas account show."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext, gettext_noop

from gateway.core.money import readable_units
from gateway.core.web.badges import Badge
from settlements.gas.fees import COIN, gas_policy
from settlements.gas.keys import gas_keys
from settlements.gas.ledger import spent_since
from settlements.models import GasAccount, Settlement, SettlementItem
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.plan import forwarder_chains
from wallets.chains.family import ChainSpec
from wallets.dashboard.rows import marked, shortened
from wallets.forwarders.addresses import checksum
from wallets.networks import chain_spec, decimals_of
from wallets.states import ClaimKind

SENDERS: Final = MappingProxyType(
    {
        Sender.GATEWAY: gettext_noop("Our gas key"),
        Sender.WALLET: gettext_noop("Your own wallet"),
        Sender.EXTERNAL: gettext_noop("An unknown sender"),
        Sender.DIRECT: gettext_noop("None: paid directly to the wallet"),
    }
)
PURPOSES: Final = MappingProxyType({ClaimKind.CHECKOUT: gettext_noop("Checkouts"), ClaimKind.X402: "x402"})

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


@dataclass(frozen=True, slots=True)
class ForwarderRow:
    """A settlement's forwarder; `moved` is empty until known."""

    forwarder: str
    short: str
    explorer: str
    amount: str
    moved: str


def planned_amount(settlement: Settlement) -> str:
    """Return the amount that is to be moved."""
    return readable_units(int(settlement.units), decimals_of(settlement.chain, settlement.token))


def amount_of(settlement: Settlement) -> str:
    """Return the amount that was moved once it has ended, and the planned amount until then."""
    if settlement.status != SettlementStatus.SETTLED:
        return planned_amount(settlement)
    return readable_units(int(settlement.units_moved), decimals_of(settlement.chain, settlement.token))


def status_badge(settlement: Settlement) -> Badge:
    """Return the badge of a settlement's status."""
    return SettlementStatus(settlement.status).badge


def purpose_label(settlement: Settlement) -> str:
    """Return what a settlement's money was paid for."""
    return gettext(PURPOSES[ClaimKind(settlement.purpose)])


def sender_label(settlement: Settlement) -> str:
    """Return who sends a settlement's transaction."""
    return gettext(SENDERS[Sender(settlement.sender)])


def gas_cost(settlement: Settlement) -> str:
    """Return the cost of a settlement's whole transaction, which is loaded; empty if we did not pay, or do not know yet."""
    made = settlement.transaction
    if made is None or made.cost_wei is None:
        return ""
    return f"{coins(int(made.cost_wei))} {chain_spec(settlement.chain).coin}"


def item_rows(items: Sequence[SettlementItem]) -> list[ForwarderRow]:
    """Return the rows of a settlement's forwarders."""
    return [_item(item) for item in items]


def _item(item: SettlementItem) -> ForwarderRow:
    address = marked(checksum(bytes(item.deposit.key)))
    template = chain_spec(item.chain).explorer_address
    moved, decimals = item.units_moved, decimals_of(item.chain, item.token)
    return ForwarderRow(
        forwarder=str(address),
        short=shortened(str(address)),
        explorer=template.format(address=address) if template else "",
        amount=readable_units(int(item.units), decimals),
        moved="" if moved is None else readable_units(int(moved), decimals),
    )
