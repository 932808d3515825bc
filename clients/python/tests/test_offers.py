"""Which tokens the 402 offers in which version of the public standard."""

import json

from shops import OpenShop
from standin import CHAINS, CONFIG, PAY_TO, USDC, StandIn, Told

USDT = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
SOLANA_USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
SOLANA_WALLET = "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"
FEE_PAYER = "2AQdpHJ2JpcEgPiATUXjQxA8QmafFegfQwSLWSprPicm"
SOLANA_KINDS = [
    {"x402Version": 1, "scheme": "exact", "network": "solana"},
    {"x402Version": 2, "scheme": "exact", "network": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"},
]


def test_a_token_without_signatures_of_its_own_is_offered_by_permit2(facilitator: StandIn, open_shop: OpenShop) -> None:
    contracts = {"USDC": {"address": USDC, "decimals": 6}, "USDT": {"address": USDT, "decimals": 6}}
    chains = {"data": [CHAINS["data"][0] | {"tokenContracts": contracts}]}
    facilitator.tell("/api/v1/chains", Told(raw=json.dumps(chains).encode()))
    config = CONFIG | {"assets": {"base": ["USDC", "USDT"]}, "networks": ["base"]}
    facilitator.tell("/config", Told(raw=json.dumps(config).encode()))
    reply = open_shop().get()
    usdc, usdt = reply.header("PAYMENT-REQUIRED")["accepts"]
    assert (usdc["asset"], usdt["asset"]) == (USDC, USDT)
    assert usdc["extra"] == {"name": "USD Coin", "version": "2"}
    assert usdt["extra"] == {"assetTransferMethod": "permit2"}
    assert usdt["payTo"] == PAY_TO
    # Version 1 has no permits.
    assert [one["asset"] for one in reply.told["accepts"]] == [USDC]


def test_solana_is_offered_with_the_account_that_pays_the_network(facilitator: StandIn, open_shop: OpenShop) -> None:
    extra = {"feePayer": FEE_PAYER}
    tell_of_solana(facilitator, [kind | {"extra": extra} for kind in SOLANA_KINDS])
    reply = open_shop().get()
    [first], [second] = (reply.told["accepts"], reply.header("PAYMENT-REQUIRED")["accepts"])
    assert (first["network"], second["network"]) == ("solana", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp")
    assert first["extra"] == second["extra"] == extra
    assert first["asset"] == second["asset"] == SOLANA_USDC
    assert first["payTo"] == second["payTo"] == SOLANA_WALLET


def test_solana_is_not_offered_where_nobody_pays_the_network(facilitator: StandIn, open_shop: OpenShop) -> None:
    tell_of_solana(facilitator, SOLANA_KINDS)
    reply = open_shop().get()
    assert reply.told["accepts"] == reply.header("PAYMENT-REQUIRED")["accepts"] == []
    assert reply.header("X-PAYMENT-REQUIRED")["payTo"] == SOLANA_WALLET


def tell_of_solana(facilitator: StandIn, kinds: list[dict[str, object]]) -> None:
    """A merchant that is paid on Solana alone."""
    chains = {
        "data": [
            {"chain": "solana", "chainId": None, "tokenContracts": {"USDC": {"address": SOLANA_USDC, "decimals": 6}}}
        ]
    }
    config = CONFIG | {
        "payTo": {"solana": SOLANA_WALLET},
        "networks": ["solana"],
        "assets": {"solana": ["USDC"]},
        "settlement": {"solana": "direct"},
    }
    told = {"/api/v1/chains": chains, "/config": config, "/supported": {"kinds": kinds}}
    for path, answer in told.items():
        facilitator.tell(path, Told(raw=json.dumps(answer).encode()))
