"""A token is a fake only if it bears a genuine one's name at another address; every other unknown one is another token."""

import pytest

from wallets.chains.names import is_imitation


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
    ],
)
def test_a_genuine_tokens_name_is_known_in_every_disguise(name: str) -> None:
    assert is_imitation(["", name])


@pytest.mark.parametrize("names", [[], [""], ["WETH"], ["USDX"], ["My Dai Token"], ["USDC-ETH LP"], ["日本円"]])
def test_another_name_imitates_nothing(names: list[str]) -> None:
    assert not is_imitation(names)
