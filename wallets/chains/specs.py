"""Types for chains: published facts (`ChainFacts`), and those combined with settings (`ChainSpec`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from wallets.chains.family import ChainFamily

TOKEN_DECIMALS: Final = 6


class Network(StrEnum):
    """Which of a chain's networks this installation uses."""

    MAINNET = "mainnet"
    TESTNET = "testnet"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """One network of a chain. `chain_id` is null where the chain has no number for itself.

    `x402_name` is its name in version 1 of the public x402 standard, and `is_x402_known` says whether that version's published
    clients know it. `caip2` is its name in version 2 if that is not `eip155:` and the number.
    """

    chain_id: int | None
    tokens: Mapping[str, str]
    explorer_tx: str
    explorer_address: str
    # Genuine tokens of other issuers, and bridged forms: watched and reported, never credited. An unlisted token is
    # unknown, not a fake.
    wrong_tokens: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # Of those among them that have not six.
    decimals: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    x402_name: str | None = None
    is_x402_known: bool = True
    caip2: str | None = None


@dataclass(frozen=True, slots=True)
class GasFacts:
    """Gas costs on a chain whose transactions we pay for, unless settings (`GAS_...`) override them.

    `most_gwei` is the most that one gas may cost; `daily_coins` the daily limit, and `low_coins` the balance
    below which operators are alerted, in the chain's own coin; `coin_usd` the assumed price of a coin.
    `most_gwei` and `coin_usd` are None where gas has no price in wei, as on Solana.
    """

    daily_coins: str
    low_coins: str
    most_gwei: str | None = None
    coin_usd: str | None = None


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """One chain, on any network. `confirmations` counts the transfer's own block as the first."""

    name: str
    title: str
    family: ChainFamily
    symbols: tuple[str, ...]
    exact_amount_required: bool
    confirm_seconds: int
    block_seconds: float
    confirmations: int
    gas_tier: str
    priority: int
    mainnet: NetworkFacts
    testnet: NetworkFacts
    badge: str | None = None
    # The rate that public nodes allow, or slightly less.
    requests_per_minute: int = 300
    # A block tag that must have passed the transfer too, where depth alone is not final.
    finality_tag: str | None = None
    # The depth at which a small x402 payment buys at once, its own block counted (the specification's times).
    x402_confirmations: int = 3
    # The name of its own coin on pages, and our spending limits for gas.
    coin: str = ""
    gas: GasFacts | None = None
    # Whether static/images/logos.svg has a view of its name.
    has_logo: bool = False
    # Trust Wallet's number of the chain (SLIP-44), where it documents links for it.
    slip44: int | None = None


@dataclass(frozen=True, slots=True)
class TokenSpec:
    """A token contract that is watched; only accepted ones can pay a checkout."""

    symbol: str
    address: str
    decimals: int
    accepted: bool


@dataclass(frozen=True, slots=True)
class ChainSpec:
    """A chain on the network this installation uses.

    `tokens` are by symbol. `explorer_tx` has a {tx} to fill and `explorer_address` an {address}; None on local networks.
    """

    name: str
    title: str
    family: ChainFamily
    network: Network
    chain_id: int | None
    tokens: Mapping[str, TokenSpec]
    exact_amount_required: bool
    estimated_confirm_seconds: int
    block_seconds: float
    confirmations: int
    finality_tag: str | None
    gas_tier: str
    priority: int
    badge: str | None
    explorer_tx: str | None
    rpc_urls: tuple[str, ...]
    start_block: int | None
    poll_seconds: float | None
    # The key for each of `rpc_urls`; empty if it needs none.
    api_keys: tuple[str, ...] = ()
    requests_per_minute: int = 300
    # Base units from which a transfer needs the chain's own finality and a second node; None: never.
    large_units: int | None = None
    # Only Tron: a second kind of source, which confirms the first one's answers.
    grid_urls: tuple[str, ...] = ()
    # The WebSocket of a node that pushes notices, where the family has this setting.
    ws_url: str | None = None
    explorer_address: str | None = None
    # From ChainFacts and NetworkFacts.
    x402_confirmations: int = 3
    x402_name: str | None = None
    caip2: str | None = None
    coin: str = ""
    gas: GasFacts | None = None
    slip44: int | None = None

    @property
    def accepted_tokens(self) -> tuple[TokenSpec, ...]:
        """The tokens that can pay a checkout."""
        return tuple(token for token in self.tokens.values() if token.accepted)

    @property
    def finer_tokens(self) -> list[str]:
        """The symbols of recorded tokens whose base units no limit of accepted ones applies to."""
        return [t.symbol for t in self.tokens.values() if t.decimals != TOKEN_DECIMALS]

    @property
    def is_local(self) -> bool:
        """Whether the chain is a developer's own, which may be reset at any time."""
        return self.network is Network.LOCAL

    def transaction_url(self, tx_hash: str) -> str | None:
        """Return a transaction's explorer address; None on local networks."""
        if self.explorer_tx is None:
            return None
        return self.explorer_tx.format(tx=quote(tx_hash, safe=""))
