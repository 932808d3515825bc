"""The chains: ids, token contracts, explorers and the product's promises. To add a chain, add an entry here.

Token addresses come from the issuers' own pages and were compared byte for byte with public token lists, but for those of BNB Smart
Chain, of which its entry says more. A local network
uses the main network's values unless settings override them. Each of `wrong_tokens` was found at its address in two
independent public sources at least: the list that is named beside it, or unrelated public code.
"""

from typing import Final

from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.family import BuyerFee, ChainFacts, GasFacts, NetworkFacts
from wallets.chains.solana.family import SOLANA_FAMILY
from wallets.chains.ton.family import TON_FAMILY
from wallets.chains.tron.family import TRON_FAMILY

# How Circle's USDC (FiatTokenV2_2) names itself in signatures: on Base and Polygon as npm x402 lists it, on Ethereum as on
# Base. Before one is used, it is compared with the token's own DOMAIN_SEPARATOR.
_CIRCLE: Final = ("USD Coin", "2")
_CIRCLE_TEST: Final = ("USDC", "2")
# Circle's EURC on Base and Base Sepolia. Public code that takes it by x402 names this; base/skills, pull request 153.
_CIRCLE_EURO: Final = ("EURC", "2")
# A transfer to an address that held none of the token, the dearest case, in round numbers: pages say "about".
_TRANSFER_GAS: Final = 65_000

BASE: Final = ChainFacts(
    name="base",
    has_logo=True,
    title="Base",
    family=EVM_FAMILY,
    symbols=("USDC",),
    other_pegs={"EURC": "EUR"},
    exact_amount_required=False,
    confirm_seconds=24,
    block_seconds=2,
    confirmations=12,
    gas_tier="low",
    priority=0,
    badge="Recommended",
    coin="ETH",
    apps=("base", "metamask", "trust", "phantom", "okx", "rainbow", "bitget"),
    gas=GasFacts(most_gwei="10", daily_coins="0.05", low_coins="0.005", coin_usd="4000"),
    # The rollup's own part; its share of Ethereum's data is less than a cent since EIP-4844.
    buyer_fee=BuyerFee(coin_usd="4000", gas=_TRANSFER_GAS, tip_gwei="0.002"),
    mainnet=NetworkFacts(
        chain_id=8453,
        x402_name="base",
        tokens={"USDC": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
        wrong_tokens={
            # Uniswap's default token list, base.json.
            "USDbC": "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA",
            # developers.circle.com/stablecoins/eurc-contract-addresses.
            "EURC": "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",
            "DAI": "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb",
            # The Superchain's token list; Tether issues none on Base.
            "USDT-bridged": "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2",
            # 1inch's token list.
            "USDS": "0x820C137fa70C8691f0e44Dc420a5e53c168921Dc",
            # Public code, also the next.
            "USDe": "0x5d3a1Ff2b6BAb83b63cd9AD0787074081a52ef34",
            "axlUSDC": "0xEB466342C4d449BC9f53A865D5Cb90586f405215",
            "GHO": "0x6Bb7a212910682DCFdbd5BCBb3e28FB4E8da10Ee",
            "LUSD": "0x368181499736d0c0CC614DBB145E2EC1AC86b8c6",
            "FRAX": "0x909DBdE1eBE906Af95660033e478D59EFe831fED",
            "crvUSD": "0x417Ac0e078398C154EdFadD9Ef675d30Be60Af93",
        },
        decimals={"DAI": 18, "USDS": 18, "USDe": 18, "GHO": 18, "LUSD": 18, "FRAX": 18, "crvUSD": 18},
        domains={"USDC": _CIRCLE, "EURC": _CIRCLE_EURO},
        explorer_tx="https://basescan.org/tx/{tx}",
        explorer_address="https://basescan.org/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=84532,
        x402_name="base-sepolia",
        tokens={"USDC": "0x036CbD53842c5426634e7929541eC2318f3dCF7e"},
        # Sample code of Circle's own, which names its page of addresses as the source. That page's table of test networks was not read.
        wrong_tokens={"EURC": "0x808456652fdb597867f38412077A9182bf77359F"},
        domains={"USDC": _CIRCLE_TEST, "EURC": _CIRCLE_EURO},
        explorer_tx="https://sepolia.basescan.org/tx/{tx}",
        explorer_address="https://sepolia.basescan.org/address/{address}",
    ),
)

POLYGON: Final = ChainFacts(
    name="polygon",
    has_logo=True,
    title="Polygon",
    family=EVM_FAMILY,
    symbols=("USDC", "USDT"),
    exact_amount_required=False,
    confirm_seconds=24,
    block_seconds=2,
    confirmations=12,
    gas_tier="low",
    priority=1,
    # Milestones make blocks final (PIP-11); a fork may be longer than twelve blocks before one.
    finality_tag="finalized",
    coin="POL",
    apps=("metamask", "trust", "phantom", "okx", "base", "rainbow", "bitget"),
    gas=GasFacts(most_gwei="2000", daily_coins="100", low_coins="10", coin_usd="0.5"),
    # Its nodes take no tip below 25 gwei.
    buyer_fee=BuyerFee(coin_usd="0.5", gas=_TRANSFER_GAS, tip_gwei="30"),
    mainnet=NetworkFacts(
        chain_id=137,
        x402_name="polygon",
        tokens={
            "USDC": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
            # Upgraded in place to USDT0: its symbol may be USDT0, its address did not change.
            "USDT": "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
        },
        wrong_tokens={
            # Uniswap's default token list, polygon.json.
            "USDC.e": "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174",
            "DAI": "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063",
            # Public code, also the next.
            "TUSD": "0x2e1AD108fF1D8C782fcBbB89AAd783aC49586756",
            "axlUSDC": "0x750e4C4984a9e0f12978eA6742Bc1c5D248f40ed",
            "BUSD": "0x9C9e5fD8bbc25984B178FdCE6117Defa39d2db39",
            "FRAX": "0x45c32fA6DF82ead1e2EF74d17b76547EDdFaFF89",
            "LUSD": "0x23001f892c0C82b79303EDC9B9033cD190BB21c7",
            "AUSD": "0x00000000eFE302BEAA2b3e6e1b18d08D69a9012a",
            "crvUSD": "0xc4Ce1D6F5D98D65eE25Cf85e9F2E9DcFEe6Cb5d6",
        },
        decimals={"DAI": 18, "TUSD": 18, "BUSD": 18, "FRAX": 18, "LUSD": 18, "crvUSD": 18},
        domains={"USDC": _CIRCLE},
        explorer_tx="https://polygonscan.com/tx/{tx}",
        explorer_address="https://polygonscan.com/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=80002,
        x402_name="polygon-amoy",
        tokens={"USDC": "0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582"},
        domains={"USDC": _CIRCLE_TEST},
        explorer_tx="https://amoy.polygonscan.com/tx/{tx}",
        explorer_address="https://amoy.polygonscan.com/address/{address}",
    ),
)

ETHEREUM: Final = ChainFacts(
    name="ethereum",
    has_logo=True,
    title="Ethereum",
    family=EVM_FAMILY,
    symbols=("USDC", "USDT"),
    exact_amount_required=True,
    confirm_seconds=72,
    block_seconds=12,
    confirmations=6,
    gas_tier="high",
    priority=5,
    badge="High gas",
    coin="ETH",
    gas=GasFacts(most_gwei="100", daily_coins="0.2", low_coins="0.05", coin_usd="4000", free_least_usd="50"),
    buyer_fee=BuyerFee(coin_usd="4000", gas=_TRANSFER_GAS, tip_gwei="0.5"),
    apps=("metamask", "trust", "base", "phantom", "okx", "rainbow", "bitget", "imtoken"),
    mainnet=NetworkFacts(
        chain_id=1,
        x402_name="ethereum",
        # npm x402 1.2.0 has no such network, PyPI's only its number.
        is_x402_known=False,
        tokens={
            "USDC": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
            "USDT": "0xdAC17F958D2ee523a2206206994597C13D831ec7",
        },
        wrong_tokens={
            # Uniswap's default token list, mainnet.json.
            "EURC": "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c",
            "DAI": "0x6B175474E89094C44Da98b954EedeAC495271d0F",
            "USDS": "0xdC035D45d973E3EC169d2276DDab16f1e407384F",
            "PYUSD": "0x6c3ea9036406852006290770BEdFcAbA0e23A0e8",
            "USDG": "0xe343167631d89B6Ffc58B88d6b7fB0228795491D",
            "RLUSD": "0x8292Bb45bf1Ee4d140127049757C2E0fF06317eD",
            "USDP": "0x8E870D67F660D95d5be530380D0eC0bd388289E1",
            "USD1": "0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d",
            # Public code, also the next.
            "USDe": "0x4c9EDD5852cd905f086C759E8383e09bff1E68B3",
            "FDUSD": "0xc5f0f7b66764F6ec8C8Dff7BA683102295E16409",
            "TUSD": "0x0000000000085d4780B73119b644AE5ecd22b376",
            "USDD": "0x4f8e5DE400DE08B164E7421B3EE387f461beCD1A",
            "GHO": "0x40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f",
            "GUSD": "0x056Fd409E1d7A124BD7017459dFEa2F387b6d5Cd",
            "BUSD": "0x4Fabb145d64652a948d72533023f6E7A623C7C53",
            "FRAX": "0x853d955aCEf822Db058eb8505911ED77F175b99e",
            "frxUSD": "0xCAcd6fd266aF91b8AeD52aCCc382b4e165586E29",
            "LUSD": "0x5f98805A4E8be255a32880FDeC7F6728C6568bA0",
            "AUSD": "0x00000000eFE302BEAA2b3e6e1b18d08D69a9012a",
            "crvUSD": "0xf939E0A03FB07F59A73314E73794Be0E57ac1b4E",
            "sUSD": "0x57Ab1ec28D129707052df4dF418D58a2D46d5f51",
            "USDtb": "0xC139190F447e929f090Edeb554D95AbB8b18aC1C",
            "EURT": "0xC581b735A1688071A1746c968e0798D642EDE491",
        },
        decimals={
            "DAI": 18,
            "USDS": 18,
            "RLUSD": 18,
            "USDP": 18,
            "USD1": 18,
            "USDe": 18,
            "FDUSD": 18,
            "TUSD": 18,
            "USDD": 18,
            "GHO": 18,
            "GUSD": 2,
            "BUSD": 18,
            "FRAX": 18,
            "frxUSD": 18,
            "LUSD": 18,
            "crvUSD": 18,
            "sUSD": 18,
            "USDtb": 18,
        },
        domains={"USDC": _CIRCLE},
        explorer_tx="https://etherscan.io/tx/{tx}",
        explorer_address="https://etherscan.io/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=11155111,
        tokens={"USDC": "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"},
        domains={"USDC": _CIRCLE_TEST},
        explorer_tx="https://sepolia.etherscan.io/tx/{tx}",
        explorer_address="https://sepolia.etherscan.io/address/{address}",
    ),
)

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
    apps=("phantom", "solflare", "backpack", "solana-pay"),
    gas=GasFacts(daily_coins="0.5", low_coins="0.05"),
    # 5,000 lamports a signature, and as much again for a place in a full block.
    buyer_fee=BuyerFee(coin_usd="150", coins="0.00001"),
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
    # What is left of the coins that wallets attach to a transfer of jettons comes back.
    buyer_fee=BuyerFee(coin_usd="2.5", coins="0.02"),
    apps=("tonkeeper", "mytonwallet"),
    mainnet=NetworkFacts(
        chain_id=None,
        # The `global_id` of its blocks, as ChainAgnostic's namespaces have it (tvm/caip2).
        caip2="tvm:-239",
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
        caip2="tvm:-3",
        tokens={"USDT": "kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy"},
        explorer_tx="https://testnet.tonviewer.com/transaction/{tx}",
        explorer_address="https://testnet.tonviewer.com/{address}",
    ),
)

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
    # 64,285 energy of a transfer to an account that holds the token at 100 sun, and 345 bytes of bandwidth at 1,000. Twice as
    # much to one that holds none, and nothing for a payer who staked coins.
    buyer_fee=BuyerFee(coin_usd="0.3", coins="6.8"),
    apps=("tronlink", "trust", "bitget", "tokenpocket", "imtoken"),
    mainnet=NetworkFacts(
        chain_id=728126428,
        # ChainAgnostic's namespaces (tron/caip2), also the test network's.
        caip2="tron:728126428",
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
        caip2="tron:3448148188",
        tokens={"USDT": "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf"},
        explorer_tx="https://nile.tronscan.org/#/transaction/{tx}",
        explorer_address="https://nile.tronscan.org/#/address/{address}",
    ),
)

# The addresses of USDC on the next two were read in Circle's own repository (circlefin/skills, use-usdc, at 26dc09ea) and equal
# viem 2.56.0's list. Where no phone app is named, no page of its vendor was read that names the network.
ARBITRUM: Final = ChainFacts(
    name="arbitrum",
    is_optional=True,
    title="Arbitrum One",
    family=EVM_FAMILY,
    symbols=("USDC", "USDT"),
    exact_amount_required=False,
    confirm_seconds=20,
    # A new block four times a second (viem; docs.arbitrum.io, sequencer timing).
    block_seconds=0.25,
    # As on Base, its sequencer's word for a while: the tag `safe` comes minutes later (docs.arbitrum.io, finality and reorgs).
    # Large amounts wait for the tag `finalized` on every chain.
    confirmations=80,
    gas_tier="low",
    priority=6,
    # Nearly a second of blocks is no depth; three seconds are, as on Base six.
    x402_confirmations=12,
    coin="ETH",
    # docs.cdp.coinbase.com, whitelisted networks; docs.metamask.io, supported networks.
    apps=("metamask", "base"),
    # A transaction whose limit lacks Ethereum's share is refused as "intrinsic gas too low" (nitro, GasChargingHook). A byte is 16
    # units of it: room for 0.6 gwei each at the lowest price here, 0.01 gwei. What is not used is not paid.
    gas=GasFacts(most_gwei="10", daily_coins="0.05", low_coins="0.005", coin_usd="4000", byte_gas=1_000),
    # It takes no tips. Ethereum's share is counted as more gas, and is left out here.
    buyer_fee=BuyerFee(coin_usd="4000", gas=_TRANSFER_GAS),
    mainnet=NetworkFacts(
        chain_id=42161,
        tokens={
            "USDC": "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
            # Tether's own repositories (tetherto/wdk-docs at e2f6b3b5, wdk-mcp-toolkit at 593bc604), and reown's AppKit. Upgraded
            # in place to USDT0: its symbol may be USDT0.
            "USDT": "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
        },
        wrong_tokens={
            # Uniswap's default token list, arbitrum.json.
            "USDC.e": "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8",
            # Range's and ZeroDev's lists of tokens.
            "DAI": "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",
            # Public code, beside Range's list.
            "PYUSD": "0x46850aD61C2B7d64d08c9C754F45254596696984",
        },
        decimals={"DAI": 18},
        # As PyPI x402 2.25 and npm @x402/evm 2.27.0 list it and the test network's.
        domains={"USDC": _CIRCLE},
        explorer_tx="https://arbiscan.io/tx/{tx}",
        explorer_address="https://arbiscan.io/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=421614,
        tokens={"USDC": "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d"},
        domains={"USDC": _CIRCLE},
        explorer_tx="https://sepolia.arbiscan.io/tx/{tx}",
        explorer_address="https://sepolia.arbiscan.io/address/{address}",
    ),
)

OPTIMISM: Final = ChainFacts(
    name="optimism",
    is_optional=True,
    title="OP Mainnet",
    family=EVM_FAMILY,
    # No USDT: Tether's own repositories contradict each other. One names the bridged form (wdk-mcp-toolkit), one USDT0 (wdk-docs at
    # e2f6b3b5, skills/wdk/references/deployments.md), and USDT0's own list could not be read.
    symbols=("USDC",),
    exact_amount_required=False,
    confirm_seconds=24,
    block_seconds=2,
    confirmations=12,
    gas_tier="low",
    priority=7,
    coin="ETH",
    # docs.cdp.coinbase.com, whitelisted networks; docs.metamask.io, supported networks.
    apps=("metamask", "base"),
    gas=GasFacts(most_gwei="10", daily_coins="0.05", low_coins="0.005", coin_usd="4000"),
    # The rollup's own part, as on Base.
    buyer_fee=BuyerFee(coin_usd="4000", gas=_TRANSFER_GAS, tip_gwei="0.002"),
    mainnet=NetworkFacts(
        chain_id=10,
        tokens={"USDC": "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"},
        wrong_tokens={
            # Uniswap's default token list, optimism.json.
            "USDC.e": "0x7F5c764cBc14f9669B88837ca1490cCa17c31607",
            # The Superchain's token list, and Tether's own wdk-mcp-toolkit.
            "USDT-bridged": "0x94b008aA00579c1307B0EF2c499aD98a8ce58e58",
            # Tether's own wdk-docs, and public code.
            "USDT0": "0x01bFF41798a0BcF287b996046Ca68b395DbC1071",
            # Public code.
            "sUSD": "0x8c6f28f2F1A3C87F0f938b96d27520d9751ec8d9",
            # ZeroDev's list of tokens, and public code.
            "DAI": "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",
        },
        decimals={"sUSD": 18, "DAI": 18},
        # As Linkdrop's SDK signs.
        domains={"USDC": _CIRCLE},
        explorer_tx="https://optimistic.etherscan.io/tx/{tx}",
        explorer_address="https://optimistic.etherscan.io/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=11155420,
        tokens={"USDC": "0x5fd84259d66Cd46123540766Be93DFE6D43130D7"},
        # The name that its token signs under was not read.
        explorer_tx="https://optimism-sepolia.blockscout.com/tx/{tx}",
        explorer_address="https://optimism-sepolia.blockscout.com/address/{address}",
    ),
)

# Neither Circle nor Tether issues these tokens: both are Binance's own ("Binance-Peg"). Addresses and decimals are from the list of the
# chain's own maintainers, who say that they checked each on the explorer and asked its contract: bnb-chain/mpp-sdk at 99cad620,
# src/server/curated.ts, BINANCE_PEG_USDC, BINANCE_PEG_USDT and BINANCE_PEG_DAI. Second: both in gasolin/stakerwatch, which names Binance's
# list of pegged tokens, and USDC in fuxingloh/xmatter, which names Trust Wallet's. No page of Binance's could be read. Each address bears
# its checksum (EIP-55).
BNB: Final = ChainFacts(
    name="bnb",
    is_optional=True,
    title="BNB Smart Chain",
    family=EVM_FAMILY,
    symbols=("USDC", "USDT"),
    exact_amount_required=False,
    confirm_seconds=40,
    # docs.bnbchain.org, llms.txt, since the hard fork Fermi.
    block_seconds=0.45,
    # Votes make a block final two blocks later, which the tag tells (BEP-126). While votes fail it is depth that counts: the majority of
    # its validators is eleven, each makes eight blocks in turn (docs.bnbchain.org, "Finality API").
    confirmations=88,
    finality_tag="finalized",
    gas_tier="low",
    priority=8,
    # Three seconds, as on Arbitrum One.
    x402_confirmations=7,
    coin="BNB",
    # Its blocks have a base fee of zero: a transaction pays its tip alone, so no page says what one costs a buyer.
    gas=GasFacts(most_gwei="10", daily_coins="0.2", low_coins="0.02", coin_usd="600"),
    mainnet=NetworkFacts(
        chain_id=56,
        tokens={
            "USDC": "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",
            "USDT": "0x55d398326f99059fF775485246999027B3197955",
        },
        wrong_tokens={
            # Also Binance's.
            "DAI": "0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3",
            "BUSD": "0xe9e7CEA3DedcA5984780Bafc599bD69ADd087D56",
        },
        decimals={"USDC": 18, "USDT": 18, "DAI": 18, "BUSD": 18},
        explorer_tx="https://bscscan.com/tx/{tx}",
        explorer_address="https://bscscan.com/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=97,
        # No issuer names a token there.
        tokens={},
        explorer_tx="https://testnet.bscscan.com/tx/{tx}",
        explorer_address="https://testnet.bscscan.com/address/{address}",
    ),
)

CHAINS: Final = (BASE, POLYGON, ETHEREUM, SOLANA, TON, TRON, ARBITRUM, OPTIMISM, BNB)
