"""Payments that a buyer's own wallet signs, prepared with the chain's nodes.

Nothing here moves money. A signed payment is seen by watchers like any other.
"""

from datetime import datetime
from typing import Final

from wallets.chains.family import Cashier, ChainSpec, PaymentOrder, PreparedPayment
from wallets.chains.registry import KeptPerThread, open_pool


def prepare_payment(spec: ChainSpec, order: PaymentOrder, *, now: datetime, until: datetime) -> PreparedPayment:
    """Return a payment for the payer to sign, valid up to `until`. Raises ChainError, NotEnoughError."""
    return _cashiers.of(spec).prepare_payment(order, now=now, until=until)


def send_payment(spec: ChainSpec, raw: bytes, signature: bytes) -> None:
    """Send the result of `prepare_payment` with the payer's signature. Raises ChainError, TransactionRefusedError."""
    _cashiers.of(spec).send(raw, signature)


def _open_cashier(spec: ChainSpec) -> Cashier:
    return spec.family.open_cashier(spec, open_pool(spec))


_cashiers: Final = KeptPerThread(_open_cashier)
