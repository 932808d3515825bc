"""The texts and numbers that templates of settlements show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from gateway.core.money import readable_units
from settlements.dashboard.gas import coins
from settlements.dashboard.words import PURPOSES, SENDERS, STATUSES
from settlements.models import Settlement, SettlementItem
from settlements.states import Sender, SettlementStatus
from wallets.dashboard.rows import marked
from wallets.dashboard.watched.rows import shortened
from wallets.forwarders.addresses import checksum
from wallets.networks import chain_spec, decimals_of
from wallets.states import ClaimKind
from webhooks.dashboard.words import Badge


@dataclass(frozen=True, slots=True)
class SettlementRow:
    """A settlement. `amount` is the moved amount once it has ended, and the planned amount until then.

    `gas` is the cost of its whole transaction, in `coin`; None if we did not pay, or do not know yet.
    """

    id: str
    purpose: str
    amount: str
    planned: str
    token: str
    chain: str
    chain_title: str
    to: str
    to_short: str
    badge: Badge
    sender: str
    is_scheduled: bool
    tx_hash: str
    tx_short: str
    explorer: str
    gas: Decimal | None
    coin: str
    error: str
    created_at: datetime
    settled_at: datetime | None


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A settlement's forwarder; `moved` is empty until known."""

    forwarder: str
    short: str
    explorer: str
    amount: str
    moved: str


def settlement_rows(settlements: Iterable[Settlement]) -> list[SettlementRow]:
    """Return the rows of settlements, in their order; their transactions are loaded with them."""
    return [settlement_row(settlement) for settlement in settlements]


def settlement_row(settlement: Settlement) -> SettlementRow:
    """Return the row of one settlement."""
    spec, status = chain_spec(settlement.chain), SettlementStatus(settlement.status)
    is_settled = status is SettlementStatus.SETTLED
    decimals = decimals_of(settlement.chain, settlement.token)
    planned = readable_units(int(settlement.units), decimals)
    moved = readable_units(int(settlement.units_moved), decimals)
    return SettlementRow(
        id=settlement.public_id,
        purpose=PURPOSES[ClaimKind(settlement.purpose)],
        amount=moved if is_settled else planned,
        planned=planned,
        token=settlement.token,
        chain=settlement.chain,
        chain_title=spec.title,
        to=settlement.to,
        to_short=shortened(marked(settlement.to)),
        badge=STATUSES[status],
        sender=SENDERS[Sender(settlement.sender)],
        is_scheduled=settlement.is_scheduled,
        tx_hash=settlement.tx_hash,
        tx_short=shortened(marked(settlement.tx_hash)) if settlement.tx_hash else "",
        explorer=_explorer(settlement),
        gas=_gas(settlement),
        coin=spec.coin,
        error=settlement.error,
        created_at=settlement.created_at,
        settled_at=settlement.settled_at,
    )


def item_rows(items: Sequence[SettlementItem]) -> list[ItemRow]:
    """Return the rows of a settlement's forwarders."""
    return [_item(item) for item in items]


def _item(item: SettlementItem) -> ItemRow:
    address = marked(checksum(bytes(item.deposit.key)))
    template = chain_spec(item.chain).explorer_address
    moved, decimals = item.units_moved, decimals_of(item.chain, item.token)
    return ItemRow(
        forwarder=str(address),
        short=shortened(address),
        explorer=template.format(address=address) if template else "",
        amount=readable_units(int(item.units), decimals),
        moved="" if moved is None else readable_units(int(moved), decimals),
    )


def _explorer(settlement: Settlement) -> str:
    if not settlement.tx_hash:
        return ""
    return chain_spec(settlement.chain).transaction_url(settlement.tx_hash) or ""


def _gas(settlement: Settlement) -> Decimal | None:
    made = settlement.transaction
    if made is None or made.cost_wei is None:
        return None
    return coins(int(made.cost_wei))
