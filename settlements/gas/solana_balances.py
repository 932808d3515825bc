"""Reads the balances of GAS_KEYS_SOLANA accounts, and warns operators of low ones. In lamports."""

from datetime import datetime
from decimal import Decimal
from typing import Final

import structlog
from django.db import transaction

from settlements.gas.alerts import tell_operators_daily
from settlements.gas.policy import low_coins
from settlements.gas.solana_keys import solana_gas_keys
from wallets.chains.adapters import open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode
from wallets.chains.specs import ChainSpec

log = structlog.get_logger(__name__)

_SOL: Final = 10**9
_MOST: Final = 2**64 - 1


def refresh_solana_balances(spec: ChainSpec, *, now: datetime) -> None:
    """Read our accounts' balances on a chain, and warn operators of low ones. Raises ChainError."""
    low = low_coins(spec.name) * _SOL
    pool = open_pool(spec)
    try:
        for address in solana_gas_keys():
            held = _balance(pool, address)
            if held < low:
                _tell_operators(spec, address, held, now)
    finally:
        pool.close()


def _balance(pool: RpcPool, address: str) -> int:
    answer = pool.call("getBalance", [address, {"commitment": "confirmed"}])
    return decode.integer(decode.in_context(answer)[1], most=_MOST)


@transaction.atomic
def _tell_operators(spec: ChainSpec, address: str, held: int, now: datetime) -> None:
    log.warning("gas runs low", chain=spec.name, account=address)
    tell_operators_daily(
        f"gas:{spec.name}:{address}",
        subject=f"Gas runs low on {spec.title}",
        text=f"{address} holds {Decimal(held) / _SOL:.6f} of {spec.title}'s coin. Below what transactions cost, machines' "
        f"payments by signed authorisation are not carried out on {spec.title}.\n\n"
        "Send SOL to it. No money is lost meanwhile: payers keep theirs.\n",
        now=now,
    )
