"""Published facts about Solana: token contracts, explorers and the product's promises.

Token addresses come from the issuers' own pages and were compared byte for byte with public token lists. A local network
uses the main network's values unless settings override them. Each of `wrong_tokens` was found at its address in two
independent public sources at least: the list that is named beside it, or unrelated public code.
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
        wrong_tokens={
            # Public code, all of them.
            "USDT": "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB",
            "EURC": "HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr",
            "PYUSD": "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo",
            "USDG": "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH",
            "FDUSD": "9zNQRsGLjNKwCUU5Gq5LR8beUCPzQMVMqKAi3SSZh54u",
            "USDS": "USDSwr9ApdHk5bvJKMjzff41FfuX8bSxdKcR81vTwcA",
            "USDe": "DEkqHyPN7GMRJ5cArtQFAWefqbZb33Hyf6s5iCwjEonT",
            "USD1": "USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB",
            "USDP": "HVbpJAQGNpkgBaYBZQBR1t7yFdvaYVp2vCQQfKKEN4tM",
            "AUSD": "AUSD1jCcCyPLybk1YnvPWsHQSrZ46dxwoMniN4N2UEB9",
            # Wormhole's forms of Ethereum's FRAX, USDC, USDT and DAI, and of Polygon's USDC.
            "FRAX": "FR87nWEUxVgerFGhZM8Y4AggKGLnaXswr1Pd8wZ4kZcp",
            "USDCpo": "E2VmbootbVCBkMNNxKQgCLMS1X3NoGMaYAsufaAsf7M",
            "USDCet": "A9mUU4qviSctJVPJdBJWkb28deg915LYJKrzQ19ji3FM",
            "USDTet": "Dn4noZ5jgGfkntzcQSUZ8czkreiZ1ForXYoV2H8Dm7S1",
            "DAIet": "EjmyN6qEC1Tf1JxiG1ae7UTJhUxSwk1TCWNWqxWV4J6o",
        },
        # Wormhole keeps at most eight.
        decimals={"USDe": 9, "DAIet": 8, "FRAX": 8},
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
