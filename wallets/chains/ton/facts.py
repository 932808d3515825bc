"""Published facts about TON: token contracts, explorers and the product's promises.

Token addresses come from the issuers' own pages and were compared byte for byte with public token lists. A local network
uses the main network's values unless settings override them. Each of `wrong_tokens` was found at its address in two
independent public sources at least: the list that is named beside it, or unrelated public code.
"""

from typing import Final

from wallets.chains.specs import ChainFacts, NetworkFacts
from wallets.chains.ton.family import TON_FAMILY

TON: Final = ChainFacts(
    name="ton",
    # toncenter.com without a key: one request a second.
    requests_per_minute=50,
    has_logo=True,
    title="TON",
    family=TON_FAMILY,
    symbols=("USDT",),
    exact_amount_required=True,
    confirm_seconds=5,
    block_seconds=0.4,
    confirmations=1,
    gas_tier="low",
    priority=3,
    x402_confirmations=1,
    coin="TON",
    mainnet=NetworkFacts(
        chain_id=None,
        tokens={"USDT": "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"},
        wrong_tokens={
            # Tonkeeper's list of jettons (ton-assets).
            "USDe": "EQAIb6KmdfdDR7CN1GBqVJuP25iCnLKCvBlJ07Evuu2dzP5f",
            "FDUSD": "EQD0Evpk4timFOHmy4Sv3l_KEUXlM-dN1_KhroTCfB2wkO89",
            # The same list: USDC and USDT of Ethereum by bridge.ton.org. Circle issues no USDC on TON.
            "jUSDC": "EQB-MPwrd1G6WKNkLz_VnV6WqBDd142KMQv-g1O-8QUA3728",
            "jUSDT": "EQBynBO23ywHy_CgarY9NK9FTz0yDsG82PtcbSTQgGoXwiuA",
            # The same by Orbit's bridge, in public code.
            "oUSDC": "EQC61IQRl0_la95t27xhIpjxZt32vl1QQVF2UgTNuvD18W-4",
            "oUSDT": "EQC_1YoM8RBixN95lz7odcF3Vrkc_N8Ne7gQi7Abtlet_Efi",
        },
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

CHAINS: Final = (TON,)
