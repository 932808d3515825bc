"""Links into TON's wallets name the jetton, for the amount would be nanotons otherwise."""

from urllib.parse import parse_qs, urlsplit

from tests.wallets.chains.examples import TON
from tests.wallets.chains.requests import request_on
from wallets.chains.ton import links
from wallets.chains.ton.address import shown_address


def test_a_link_names_jetton_units_and_comment() -> None:
    request = request_on("ton", TON)
    uri = urlsplit(links.payment_uri(request))
    assert (uri.scheme, uri.netloc) == ("ton", "transfer")
    # People's wallets show addresses without the mark of a contract.
    assert uri.path == f"/{shown_address(TON)}"
    assert parse_qs(uri.query) == {
        "jetton": [request.token_address],
        "amount": ["49000137"],
        "text": ["0123456789abcdef"],
    }
    tonkeeper, mytonwallet = links.wallet_links(request)
    assert tonkeeper.url.endswith(f"/transfer{uri.path}?{uri.query}")
    assert mytonwallet.url == f"https://my.tt/transfer{uri.path}?{uri.query}"


def test_without_a_memo_no_comment_is_asked_for() -> None:
    assert "text" not in links.payment_uri(request_on("ton", TON, memo=""))
