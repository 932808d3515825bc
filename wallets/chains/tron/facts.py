"""Published facts about Tron: token contracts, explorers and the product's promises.

Token addresses come from the issuers' own pages and were compared byte for byte with public token lists. A local network
uses the main network's values unless settings override them. Each of `wrong_tokens` was found at its address in two
independent public sources at least: the list that is named beside it, or unrelated public code.
"""

from typing import Final

from wallets.chains.specs import ChainFacts, NetworkFacts
from wallets.chains.tron.family import TRON_FAMILY

TRON: Final = ChainFacts(
    name="tron",
    has_logo=True,
    title="Tron",
    family=TRON_FAMILY,
    symbols=("USDT",),
    exact_amount_required=True,
    confirm_seconds=60,
    block_seconds=3,
    # Solidified blocks are final; on nodes that do not report them, this depth counts.
    confirmations=20,
    gas_tier="medium",
    priority=4,
    finality_tag="finalized",
    coin="TRX",
    slip44=195,
    mainnet=NetworkFacts(
        chain_id=728126428,
        tokens={"USDT": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"},
        wrong_tokens={
            # Public code, all of them. Circle no longer issues on Tron.
            "USDC": "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8",
            # USDD has a new contract since 2025.
            "USDD": "TXDk8mbtRbXeYuMNS83CfKPaYYT8XWv9Hz",
            "USDDOLD": "TPYmHEhy5n8TCEfYGqW2rPxsghSfzghPDn",
            "TUSD": "TUpMhErZL2fhh4sVNULAbNKLokS4GjC1F4",
            "USD1": "TPFqcBAaaUMCSVRCqPaQ9QnzKhmuoLR6Rc",
            "USDJ": "TMwFHYXLJaRUPeW6421aqXL4ZEzPRFGkGT",
        },
        decimals={"USDD": 18, "USDDOLD": 18, "TUSD": 18, "USD1": 18, "USDJ": 18},
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

CHAINS: Final = (TRON,)
