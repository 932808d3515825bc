"""Payments that a buyer's own wallet signs, prepared with the chain's nodes.

Nothing here moves money. A signed payment is seen by watchers like any other.
"""

import threading
from datetime import datetime

from wallets.chains.family import Cashier, ChainSpec, PaymentOrder, PreparedPayment
from wallets.chains.registry import open_pool

# Connections to nodes are kept, and must not be shared between threads.
_of_this_thread = threading.local()


def prepare_payment(spec: ChainSpec, order: PaymentOrder, *, now: datetime, until: datetime) -> PreparedPayment:
    """Return a payment for the payer to sign, valid up to `until`. Raises ChainError, NotEnoughError."""
    return _cashier(spec).prepare_payment(order, now=now, until=until)


def send_payment(spec: ChainSpec, raw: bytes, signature: bytes) -> None:
    """Send the result of `prepare_payment` with the payer's signature. Raises ChainError, TransactionRefusedError."""
    _cashier(spec).send(raw, signature)


def _cashier(spec: ChainSpec) -> Cashier:
    """Return this thread's cashier, recreated when the chain's settings change."""
    kept: dict[str, tuple[ChainSpec, Cashier]] = _of_this_thread.__dict__
    known = kept.get(spec.name)
    if known is None or known[0] != spec:
        cashier = spec.family.open_cashier(spec, open_pool(spec))
        known = kept[spec.name] = (spec, cashier)
    return known[1]
