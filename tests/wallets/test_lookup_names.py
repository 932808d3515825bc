"""A token is a fake only if it bears a genuine one's name at another address; every other unknown one is another token."""

import pytest

from wallets.chains.registry import CHAINS
from wallets.lookup import is_imitation


@pytest.mark.parametrize(
    "name",
    [
        "USDC",
        "usdc",
        " USDC ",
        "USDC.",
        "U S D C",
        "US\u200bDC",
        "USDС",
        "ＵＳＤＣ",
        "USD₮",
        "UЅDТ",
        "USD Coin",
        "Tether USD",
        "Tether USD\u00ad",
        "$USDT$",
        "ÜSDT",
        "DAI",
        "Dai Stablecoin",
        "PayPal USD",
        "USDC.e",
        "USD Coin ",
        "USDT\u200e",
        "U\u3164SDC",
        "U\u0332SDT",
        "\U0001d414\U0001d412\U0001d403\U0001d413",
        "\U0001f144\U0001f142\U0001f133\U0001f132",
        "ꓴꓢꓓꓔ",
        "ᑌSDᑕ",
        "UЅᎠᎢ",
        "UՏDT",
        "USÐT",
        "USDƬ",
        "USDⲤ",
    ],
)
def test_a_genuine_tokens_name_is_known_in_every_disguise(name: str) -> None:
    assert is_imitation(["", name], "arbitrum")


@pytest.mark.parametrize("name", ["USDC", "Tether USD", "USDT0"])
@pytest.mark.parametrize("chain", [facts.name for facts in CHAINS])
def test_an_accepted_tokens_name_is_known_on_every_chain(name: str, chain: str) -> None:
    assert is_imitation([name], chain)


@pytest.mark.parametrize(
    ("chain", "names"),
    [
        ("arbitrum", ["Frax", "FRAX"]),
        ("arbitrum", ["LUSD Stablecoin", "LUSD"]),
        ("base", ["PayPal USD", "PYUSD"]),
        ("optimism", ["Ethena USDe", "USDe"]),
        ("polygon", ["Gho Token", "GHO"]),
        ("solana", ["Curve.Fi USD Stablecoin", "crvUSD"]),
        ("ton", ["Dai Stablecoin", "DAI"]),
        ("tron", ["First Digital USD", "FDUSD"]),
    ],
)
def test_an_issuers_token_on_a_chain_that_does_not_list_it_may_be_genuine(chain: str, names: list[str]) -> None:
    listing = [facts.name for facts in CHAINS if is_imitation(names, facts.name)]
    assert listing
    assert chain not in listing


@pytest.mark.parametrize(
    "names",
    [
        [],
        [""],
        ["WETH"],
        ["USDX"],
        ["My Dai Token"],
        ["USDC-ETH LP"],
        ["日本円"],
        ["Tether USD (PoS)"],
        ["Bridged USDC"],
        ["vUSDC"],
    ],
)
def test_another_name_imitates_nothing(names: list[str]) -> None:
    assert not any(is_imitation(names, facts.name) for facts in CHAINS)
