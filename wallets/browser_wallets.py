"""Payments that a buyer's own wallet is to sign: which chains have them, and the nodes that help.

Nothing here moves money. What a wallet signed and a watcher sees is a payment like any other.
"""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from wallets.chains.adapters import open_pool
from wallets.chains.payments import PaymentOrder
from wallets.chains.registry import ChainSpec
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana.cashier import SolanaCashier
from wallets.chains.specs import Family
from wallets.chains.tron.cashier import TronCashier
from wallets.chains.tron.grid import open_node
from wallets.chains.tron.transactions import ContractCall

T = TypeVar("T")

# Connections to nodes are kept, and are not for two threads at once.
_of_this_thread = threading.local()


def prepares_payments(spec: ChainSpec) -> bool:
    """Whether Florin can write this chain's payments for a wallet to sign. On Tron it must send them as well."""
    match spec.family:
        case Family.SOLANA:
            return bool(spec.rpc_urls)
        case Family.TRON:
            return bool(spec.rpc_urls and spec.grid_urls)
        case _:
            return False


def prepare_on_solana(spec: ChainSpec, order: PaymentOrder) -> bytes:
    """Return a transaction for the payer to sign and send. Raises ChainError, NotEnoughError."""
    return _kept(spec, _solana_cashier).prepare(order)


def prepare_on_tron(
    spec: ChainSpec, order: PaymentOrder, *, now: datetime, until: datetime
) -> ContractCall:
    """Return a transaction for the payer to sign, of no use after `until`. Raises ChainError, NotEnoughError."""
    return _kept(spec, _tron_cashier).prepare(order, now=now, until=until)


def send_on_tron(spec: ChainSpec, raw: bytes, signature: bytes) -> None:
    """Send what `prepare_on_tron` returned and the payer signed. Raises ChainError, TransactionRefusedError."""
    _kept(spec, _tron_cashier).send(raw, signature)


def _kept(spec: ChainSpec, open_one: Callable[[ChainSpec], T]) -> T:
    """Return this thread's own, made anew when the chain's settings are others."""
    kept: dict[str, tuple[ChainSpec, Any]] = _of_this_thread.__dict__
    known = kept.get(spec.name)
    if known is None or known[0] != spec:
        known = kept[spec.name] = (spec, open_one(spec))
    cashier: T = known[1]
    return cashier


def _solana_cashier(spec: ChainSpec) -> SolanaCashier:
    return SolanaCashier(open_pool(spec))


def _tron_cashier(spec: ChainSpec) -> TronCashier:
    grid = RpcPool([open_node(spec, url) for url in spec.grid_urls])
    return TronCashier(open_pool(spec), grid)
