"""Watched wallets and their movements in the API's and the files' format."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.conf import settings

from accounts.states import Mode
from gateway.core.money import format_units
from gateway.core.times import iso, iso_or_none
from wallets.models import WatchedBalance, WatchedMovement, WatchedWallet
from wallets.watched.selectors import history_progress

# The tokens whose balance the API promises on every chain.
TOKENS: Final = ("USDC", "USDT")
CSV_HEADER: Final = """
    id direction block_time chain token amount tx_hash position counterparty_address status confirmed_at
""".split()
_ALL: Final = 100


def wallet_payload(wallet: WatchedWallet, balances: Mapping[str, WatchedBalance]) -> dict[str, Any]:
    """Return the API's object for a wallet; `balances` are its own, by token."""
    progress = history_progress(wallet)
    return {
        "id": wallet.public_id,
        "chain": wallet.chain,
        "address": wallet.address,
        "label": wallet.label,
        "tags": wallet.tags,
        "status": wallet.status,
        "balances": {token: _held(balances.get(token)) for token in TOKENS},
        "history": {
            "progress": _ALL if progress is None else progress,
            "since": iso(history_since(wallet)),
            "error": wallet.history_error or None,
        },
        "livemode": wallet.mode == Mode.LIVE,
        "created_at": iso(wallet.created_at),
    }


def history_since(wallet: WatchedWallet) -> datetime:
    """Return from when on a wallet's movements are known, or will be once its history is read."""
    if wallet.history_from is None and history_progress(wallet) is None:
        return wallet.created_at
    return wallet.created_at - timedelta(days=settings.WALLET_HISTORY_DAYS)


def movement_payload(movement: WatchedMovement) -> dict[str, Any]:
    """Return a line of `GET /wallets/{id}/transactions`."""
    return {
        "id": movement.public_id,
        "direction": movement.direction,
        "chain": movement.chain,
        "token": movement.token,
        "amount": format_units(movement.units, movement.decimals),
        "tx_hash": movement.tx_hash,
        "position": movement.position,
        "counterparty_address": movement.counterparty,
        "status": movement.state,
        "block_time": iso(movement.block_time),
        "confirmed_at": iso_or_none(movement.confirmed_at),
    }


def csv_cells(movements: Iterable[WatchedMovement]) -> Iterator[tuple[object, ...]]:
    """Return the lines of a file; amounts are numbers there."""
    for movement in movements:
        line = movement_payload(movement) | {"amount": Decimal(format_units(movement.units, movement.decimals))}
        yield tuple(line[name] for name in CSV_HEADER)


def _held(balance: WatchedBalance | None) -> str | None:
    return None if balance is None else format_units(balance.units)
