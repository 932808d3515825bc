"""Which tokens the 402 offers in which version of the public standard."""

import json

from florin_x402 import Price
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


EURC = "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
EUROS = {"token": "EURC", "currency": "EUR", "address": EURC, "decimals": 6, "extra": {"name": "EURC", "version": "2"}}


def tell_of_euros(facilitator: StandIn, **changes: object) -> None:
    """A facilitator that takes euros on Base, too."""
    config = CONFIG | {"otherAssets": {"base": [EUROS | changes]}}
    facilitator.tell("/config", Told(raw=json.dumps(config).encode()))


def test_a_price_in_dollars_is_never_as_many_euros(facilitator: StandIn, open_shop: OpenShop) -> None:
    tell_of_euros(facilitator)
    reply = open_shop().get()
    assert {one["asset"] for one in reply.header("PAYMENT-REQUIRED")["accepts"]} == {USDC}
    assert {one["asset"] for one in reply.told["accepts"]} == {USDC}
    assert reply.header("X-PAYMENT-REQUIRED")["asset"] == "USDC"


def test_a_price_in_euros_is_offered_in_them_alone_under_their_own_name(
    facilitator: StandIn, open_shop: OpenShop
) -> None:
    tell_of_euros(facilitator)
    reply = open_shop(price=Price("0.01", token="EURC")).get()
    [second], [first] = reply.header("PAYMENT-REQUIRED")["accepts"], reply.told["accepts"]
    for told in (first, second):
        assert (told["asset"], told["payTo"]) == (EURC, PAY_TO)
        assert told["extra"] == {"name": "EURC", "version": "2"}
    assert reply.header("X-PAYMENT-REQUIRED")["asset"] == "EURC"


def test_euros_of_other_decimals_are_offered_by_hash_alone(facilitator: StandIn, open_shop: OpenShop) -> None:
    tell_of_euros(facilitator, decimals=18)
    reply = open_shop(price=Price("0.01", token="EURC")).get()
    assert reply.header("PAYMENT-REQUIRED")["accepts"] == reply.told["accepts"] == []
    assert reply.header("X-PAYMENT-REQUIRED")["asset"] == "EURC"


def test_a_facilitator_without_euros_sells_nothing_for_them(open_shop: OpenShop) -> None:
    assert open_shop(price=Price("0.01", token="EURC")).get().status == 503


def test_other_assets_that_claim_to_be_dollars_close_the_shop(facilitator: StandIn, open_shop: OpenShop) -> None:
    tell_of_euros(facilitator, currency="USD")
    assert open_shop().get().status == 503
