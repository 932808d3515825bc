"""Links into wallets of EVM chains name contract, chain, recipient and base units."""

import pytest

from tests.wallets.chains.examples import EVM
from tests.wallets.chains.requests import request_on
from wallets.chains.evm import links


@pytest.mark.parametrize(("chain", "number"), [("base", 8453), ("polygon", 137), ("ethereum", 1)])
def test_both_links_ask_for_the_same_transfer(chain: str, number: int) -> None:
    request = request_on(chain, EVM)
    transfer = f"{request.token_address}@{number}/transfer?address={EVM}&uint256=49000137"
    assert links.payment_uri(request) == f"ethereum:{transfer}"
    [metamask] = links.wallet_links(request)
    assert metamask.url == f"https://link.metamask.io/send/{transfer}"


def test_a_token_that_the_settings_do_not_name_has_no_link() -> None:
    with pytest.raises(KeyError):
        links.payment_uri(request_on("base", EVM, token="DOGE"))
