"""Links of Solana Pay: a decimal amount, the mint, the reference, and short texts."""

from urllib.parse import parse_qs, urlsplit

import base58

from tests.wallets.chains.examples import SOLANA
from tests.wallets.chains.requests import REFERENCE, request_on
from wallets.chains.solana import links


def query_of(uri: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(uri).query)


def test_a_link_names_amount_mint_and_reference() -> None:
    request = request_on("solana", SOLANA)
    uri = links.payment_uri(request)
    assert uri.startswith(f"solana:{SOLANA}?")
    assert query_of(uri) == {
        "amount": ["49.000137"],
        "spl-token": [request.token_address],
        "reference": [base58.b58encode(REFERENCE).decode()],
    }
    assert [link.url for link in links.wallet_links(request)] == [uri]


def test_without_a_reference_none_is_named() -> None:
    uri = links.payment_uri(request_on("solana", SOLANA, reference=b""))
    assert "reference" not in query_of(uri)


def test_a_long_text_is_cut_between_two_characters() -> None:
    uri = links.payment_uri(request_on("solana", SOLANA, label="Käse" * 20, message="€" * 20))
    query = query_of(uri)
    # 32 and 48 percent-encoded bytes: "ä" takes six of them, "€" nine.
    assert query["label"] == ["Käse" * 3 + "K"]
    assert query["message"] == ["€" * 5]
