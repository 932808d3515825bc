"""The texts and numbers that templates of watched wallets show."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from gateway.core.money import readable_units
from wallets.chains.family import ChainSpec
from wallets.dashboard.rows import MarkedAddress, marked, shortened
from wallets.models import WatchedBalance, WatchedMovement, WatchedWallet
from wallets.networks import chain_spec
from wallets.states import Direction, TransferState
from wallets.watched.selectors import balances_of, history_progress, history_since

_SIGNS: Final = MappingProxyType({Direction.IN: "+", Direction.OUT: "\N{MINUS SIGN}"})
# People compare at most this much at either end of a hash.
_ENDS: Final = 8


@dataclass(frozen=True, slots=True)
class WatchedRow:
    """A watched wallet. `progress` is None once its history is read; `balances` has empty amounts for unknown ones."""

    id: str
    label: str
    title: str
    address: str
    marked: MarkedAddress
    short: str
    chain: str
    chain_title: str
    explorer: str
    tags: tuple[str, ...]
    progress: int | None
    error: str
    since: datetime
    balances: tuple[tuple[str, str], ...]

    @property
    def is_importing(self) -> bool:
        """Whether its history is still being read."""
        return self.progress is not None


@dataclass(frozen=True, slots=True)
class MovementRow:
    """A movement. `amount` is signed; explorer addresses are empty on local networks."""

    direction: str
    amount: str
    token: str
    words: str
    tone: str
    counterparty: str
    counterparty_short: str
    counterparty_url: str
    tx_hash: str
    tx_short: str
    explorer: str
    block_time: datetime


def watched_rows(wallets: Iterable[WatchedWallet]) -> list[WatchedRow]:
    """Return the rows of wallets, in their order."""
    wallets = list(wallets)
    balances = balances_of(wallets)
    return [_row(wallet, balances[wallet.pk]) for wallet in wallets]


def _row(wallet: WatchedWallet, balances: Mapping[str, WatchedBalance]) -> WatchedRow:
    spec, parts = chain_spec(wallet.chain), marked(wallet.address)
    short = shortened(wallet.address)
    return WatchedRow(
        id=wallet.public_id,
        label=wallet.label,
        title=wallet.label or short,
        address=str(parts),
        marked=parts,
        short=short,
        chain=wallet.chain,
        chain_title=spec.title,
        explorer=_address_url(spec, wallet.address),
        tags=tuple(wallet.tags),
        progress=history_progress(wallet),
        error=wallet.history_error,
        since=history_since(wallet),
        balances=tuple((token.symbol, _held(balances.get(token.symbol))) for token in spec.accepted_tokens),
    )


def _held(balance: WatchedBalance | None) -> str:
    return "" if balance is None else readable_units(int(balance.units))


def movement_rows(movements: Iterable[WatchedMovement]) -> list[MovementRow]:
    """Return the rows of a wallet's movements, in their order."""
    return [_movement(movement) for movement in movements]


def _movement(movement: WatchedMovement) -> MovementRow:
    spec, tx_hash = chain_spec(movement.chain), movement.tx_hash
    badge = TransferState(movement.state).badge
    amount = readable_units(int(movement.units), movement.decimals)
    return MovementRow(
        direction=movement.direction,
        amount=f"{_SIGNS[Direction(movement.direction)]}{amount}",
        token=movement.token,
        words=badge.label,
        tone=badge.tone,
        counterparty=movement.counterparty,
        counterparty_short=shortened(movement.counterparty),
        counterparty_url=_address_url(spec, movement.counterparty),
        tx_hash=tx_hash,
        tx_short=f"{tx_hash[:_ENDS]}…{tx_hash[-_ENDS:]}",
        explorer=spec.transaction_url(tx_hash) or "",
        block_time=movement.block_time,
    )


def _address_url(spec: ChainSpec, address: str) -> str:
    template = spec.explorer_address
    return template.format(address=address) if template else ""
