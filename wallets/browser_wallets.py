"""Payments that a person's own wallet signs, prepared with the chain's nodes, and how far the nodes' final blocks are.

Nothing here moves money. A signed payment is seen by watchers like any other.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, cast

from wallets.chains.base import BlockAdapter
from wallets.chains.family import Cashier, ChainSpec, PaymentOrder, PreparedPayment
from wallets.chains.registry import KeptPerThread, open_pool


def prepare_payment(spec: ChainSpec, order: PaymentOrder, *, now: datetime, until: datetime) -> PreparedPayment:
    """Return a payment for the payer to sign, valid up to `until`. Raises ChainError, NotEnoughError."""
    [prepared] = prepare_payments(spec, [order], now=now, until=until)
    return prepared


def prepare_payments(
    spec: ChainSpec, orders: Sequence[PaymentOrder], *, now: datetime, until: datetime
) -> list[PreparedPayment]:
    """Return payments for the first orders of one payer and token, as many as its balance covers; all end at one moment.

    The orders are at most the family's `most_payments`, which joins the transactions. Raises ChainError, NotEnoughError.
    """
    return _cashiers.of(spec).prepare_payments(orders, now=now, until=until)


def send_payment(spec: ChainSpec, raw: bytes, signature: bytes) -> None:
    """Send a prepared payment with the payer's signature. Raises ChainError, TransactionRefusedError."""
    _cashiers.of(spec).send(raw, signature)


def ended_at(spec: ChainSpec, valid_until: datetime, last_height: int | None = None) -> datetime | None:
    """Return when a payment had ended at the latest, as the chain's final blocks say; None while a block may take it.

    What was paid until then is in the chain. Raises ChainError.
    """
    if last_height is not None:
        return _cashiers.of(spec).passed(last_height)
    return valid_until if final_time(spec) >= valid_until else None


def final_time(spec: ChainSpec) -> datetime:
    """Return the time of a chain's newest final block, or of one shortly before it. Raises ChainError.

    Nothing that had to be in an earlier block can be in the chain any more, unless it is there already.
    """
    pool = open_pool(spec)
    adapter = spec.family.open_adapter(spec, pool)
    try:
        head = adapter.head()
        height = adapter.final_height(head, read_height=head.block.height)
        if height == head.block.height:
            return head.block.time
        if spec.family.reads_accounts:
            return spec.family.open_times(spec, pool).at(height).time
        [block] = cast("BlockAdapter", adapter).blocks([max(height, 0)])
        return block.time
    finally:
        adapter.close()


def _open_cashier(spec: ChainSpec) -> Cashier:
    return spec.family.open_cashier(spec, open_pool(spec))


_cashiers: Final = KeptPerThread(_open_cashier)
