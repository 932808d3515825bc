"""What is published about the six chains: ids, token contracts, explorers, and what the product promises of each.

Token addresses come from the issuers' own pages and were compared byte for byte with public token lists. A local
network stands in for the main one, so it takes the main network's values unless settings say otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Family(StrEnum):
    """Which kind of node and address a chain has."""

    EVM = "evm"
    SOLANA = "solana"
    TON = "ton"
    TRON = "tron"


class Network(StrEnum):
    """Which of a chain's networks this installation uses."""

    MAINNET = "mainnet"
    TESTNET = "testnet"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """One network of a chain. `chain_id` is null where the chain has no number for itself."""

    chain_id: int | None
    tokens: Mapping[str, str]
    explorer_tx: str
    explorer_address: str
    # What people confuse with the accepted tokens: seen and told, never credited.
    wrong_tokens: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({})
    )


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """One chain, whatever the network. `confirmations` counts the transfer's own block as the first."""

    name: str
    title: str
    family: Family
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
    # What public nodes allow at least, or a little less.
    requests_per_minute: int = 300
    # A block tag that must have passed the transfer too, where depth alone is not final.
    finality_tag: str | None = None


TOKEN_DECIMALS: Final = 6

_BASE: Final = ChainFacts(
    name="base",
    title="Base",
    family=Family.EVM,
    symbols=("USDC",),
    exact_amount_required=False,
    confirm_seconds=24,
    block_seconds=2,
    confirmations=12,
    gas_tier="low",
    priority=0,
    badge="Recommended",
    mainnet=NetworkFacts(
        chain_id=8453,
        tokens={"USDC": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
        wrong_tokens={
            "USDbC": "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA",
            "USDT-bridged": "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2",
        },
        explorer_tx="https://basescan.org/tx/{tx}",
        explorer_address="https://basescan.org/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=84532,
        tokens={"USDC": "0x036CbD53842c5426634e7929541eC2318f3dCF7e"},
        explorer_tx="https://sepolia.basescan.org/tx/{tx}",
        explorer_address="https://sepolia.basescan.org/address/{address}",
    ),
)

_POLYGON: Final = ChainFacts(
    name="polygon",
    title="Polygon",
    family=Family.EVM,
    symbols=("USDC", "USDT"),
    exact_amount_required=False,
    confirm_seconds=24,
    block_seconds=2,
    confirmations=12,
    gas_tier="low",
    priority=1,
    # Milestones make blocks final (PIP-11); a fork may be longer than twelve blocks before one.
    finality_tag="finalized",
    mainnet=NetworkFacts(
        chain_id=137,
        tokens={
            "USDC": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
            # Upgraded in place to USDT0: its symbol may say so, its address did not change.
            "USDT": "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
        },
        wrong_tokens={"USDC.e": "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174"},
        explorer_tx="https://polygonscan.com/tx/{tx}",
        explorer_address="https://polygonscan.com/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=80002,
        tokens={"USDC": "0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582"},
        explorer_tx="https://amoy.polygonscan.com/tx/{tx}",
        explorer_address="https://amoy.polygonscan.com/address/{address}",
    ),
)

_SOLANA: Final = ChainFacts(
    name="solana",
    # Public nodes: 40 of one method in ten seconds.
    requests_per_minute=200,
    title="Solana",
    family=Family.SOLANA,
    symbols=("USDC",),
    exact_amount_required=True,
    confirm_seconds=1,
    block_seconds=0.4,
    confirmations=1,
    gas_tier="low",
    priority=2,
    mainnet=NetworkFacts(
        chain_id=None,
        tokens={"USDC": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"},
        explorer_tx="https://solscan.io/tx/{tx}",
        explorer_address="https://solscan.io/account/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=None,
        tokens={"USDC": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"},
        explorer_tx="https://explorer.solana.com/tx/{tx}?cluster=devnet",
        explorer_address="https://explorer.solana.com/address/{address}?cluster=devnet",
    ),
)

_TON: Final = ChainFacts(
    name="ton",
    # toncenter.com without a key: one a second.
    requests_per_minute=50,
    title="TON",
    family=Family.TON,
    symbols=("USDT",),
    exact_amount_required=True,
    confirm_seconds=5,
    block_seconds=0.4,
    confirmations=1,
    gas_tier="low",
    priority=3,
    mainnet=NetworkFacts(
        chain_id=None,
        tokens={"USDT": "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"},
        explorer_tx="https://tonviewer.com/transaction/{tx}",
        explorer_address="https://tonviewer.com/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=None,
        tokens={"USDT": "kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy"},
        explorer_tx="https://testnet.tonviewer.com/transaction/{tx}",
        explorer_address="https://testnet.tonviewer.com/{address}",
    ),
)

_TRON: Final = ChainFacts(
    name="tron",
    title="Tron",
    family=Family.TRON,
    symbols=("USDT",),
    exact_amount_required=True,
    confirm_seconds=60,
    block_seconds=3,
    # Solidified blocks are final; this deep where a node does not tell which they are.
    confirmations=20,
    gas_tier="medium",
    priority=4,
    finality_tag="finalized",
    mainnet=NetworkFacts(
        chain_id=728126428,
        tokens={"USDT": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"},
        explorer_tx="https://tronscan.org/#/transaction/{tx}",
        explorer_address="https://tronscan.org/#/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=3448148188,
        tokens={"USDT": "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf"},
        explorer_tx="https://nile.tronscan.org/#/transaction/{tx}",
        explorer_address="https://nile.tronscan.org/#/address/{address}",
    ),
)

_ETHEREUM: Final = ChainFacts(
    name="ethereum",
    title="Ethereum",
    family=Family.EVM,
    symbols=("USDC", "USDT"),
    exact_amount_required=True,
    confirm_seconds=72,
    block_seconds=12,
    confirmations=6,
    gas_tier="high",
    priority=5,
    badge="High gas",
    mainnet=NetworkFacts(
        chain_id=1,
        tokens={
            "USDC": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
            "USDT": "0xdAC17F958D2ee523a2206206994597C13D831ec7",
        },
        explorer_tx="https://etherscan.io/tx/{tx}",
        explorer_address="https://etherscan.io/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=11155111,
        tokens={"USDC": "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"},
        explorer_tx="https://sepolia.etherscan.io/tx/{tx}",
        explorer_address="https://sepolia.etherscan.io/address/{address}",
    ),
)

CHAINS: Final[tuple[ChainFacts, ...]] = (
    _BASE,
    _POLYGON,
    _SOLANA,
    _TON,
    _TRON,
    _ETHEREUM,
)
"""Sorted by priority."""
