"""Published facts about Solana: token contracts, explorers and the product's promises.

Token addresses come from the issuers' own pages and were compared byte for byte with public token lists. A local network
uses the main network's values unless settings override them.
"""

from typing import Final

from wallets.chains.solana.family import SOLANA_FAMILY
from wallets.chains.specs import ChainFacts, GasFacts, NetworkFacts

SOLANA: Final = ChainFacts(
    name="solana",
    # Public nodes: 40 of one method in ten seconds.
    requests_per_minute=200,
    has_logo=True,
    title="Solana",
    family=SOLANA_FAMILY,
    symbols=("USDC",),
    exact_amount_required=True,
    confirm_seconds=1,
    block_seconds=0.4,
    confirmations=1,
    gas_tier="low",
    priority=2,
    x402_confirmations=1,
    coin="SOL",
    gas=GasFacts(daily_coins="0.5", low_coins="0.05"),
    mainnet=NetworkFacts(
        chain_id=None,
        # The beginning of the first block's hash (CAIP-30).
        caip2="solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
        x402_name="solana",
        tokens={"USDC": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"},
        explorer_tx="https://solscan.io/tx/{tx}",
        explorer_address="https://solscan.io/account/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=None,
        caip2="solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
        x402_name="solana-devnet",
        tokens={"USDC": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"},
        explorer_tx="https://explorer.solana.com/tx/{tx}?cluster=devnet",
        explorer_address="https://explorer.solana.com/address/{address}?cluster=devnet",
    ),
)

CHAINS: Final = (SOLANA,)
