"""Links and QR codes say exactly what is to be paid, in each chain's own grammar."""

import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey
from tonsdk.utils import Address

from checkouts.payment_links import payment_uri, qr_text, wallet_links
from wallets.addresses import shown_address
from wallets.chains.payments import PaymentRequest
from wallets.chains.registry import load_chains

MAIN = load_chains("mainnet", {})
EVM_WALLET = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
WALLETS = {
    "base": EVM_WALLET,
    "polygon": EVM_WALLET,
    "ethereum": EVM_WALLET,
    "solana": str(Pubkey.from_bytes(bytes(range(32)))),
    "ton": Address("0:" + "5a" * 32).to_string(True, True, True),
    "tron": "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb",
}
REFERENCE = bytes(range(100, 132))
PAGE = "https://pay.example/c/code?chain=tron"


def request_on(chain: str, network: str = "mainnet", **overrides: Any) -> PaymentRequest:
    spec = load_chains(network, {})[chain]
    values: dict[str, Any] = {
        "token": spec.accepted_tokens[0].symbol,
        "address": WALLETS[chain],
        "units": 49_000_137,
        "reference": REFERENCE,
        "memo": "0123456789abcdef",
        "label": "Halden Roasters",
        "message": "Ethiopia Guji, 3 × 250 g",
    }
    return PaymentRequest(spec, **(values | overrides))


@pytest.mark.parametrize("chain", ["base", "polygon", "ethereum"])
def test_evm_links_name_contract_chain_recipient_and_base_units(chain: str) -> None:
    spec = MAIN[chain]
    assert payment_uri(request_on(chain)) == (
        f"ethereum:{spec.tokens['USDC'].address}@{spec.chain_id}/transfer?address={EVM_WALLET}&uint256=49000137"
    )


def test_solana_links_name_amount_mint_and_reference() -> None:
    uri = payment_uri(request_on("solana"))
    parts = urlsplit(uri or "")
    assert (parts.scheme, parts.path) == ("solana", WALLETS["solana"])
    assert parse_qs(parts.query) == {
        "amount": ["49.000137"],
        "spl-token": [MAIN["solana"].tokens["USDC"].address],
        "reference": [str(Pubkey.from_bytes(REFERENCE))],
        "label": ["Halden Roasters"],
        "message": ["Ethiopia Guji, 3 × 250 g"],
    }
    assert "%20" in (uri or "")
    assert "+" not in (uri or "")


@given(st.integers(1, 10**15))
def test_amounts_on_solana_are_plain_decimals_of_at_most_six_places(units: int) -> None:
    query = parse_qs(urlsplit(payment_uri(request_on("solana", units=units)) or "").query)
    whole, _, fraction = query["amount"][0].partition(".")
    assert whole.isdigit()
    assert len(fraction) == 6
    assert int(whole + fraction) == units


@given(st.text(max_size=200), st.text(max_size=200))
def test_whatever_a_merchant_writes_stays_one_short_parameter(label: str, message: str) -> None:
    uri = payment_uri(request_on("solana", label=label, message=message)) or ""
    query = parse_qs(urlsplit(uri).query)
    assert query.keys() - {"label", "message"} == {"amount", "spl-token", "reference"}
    assert label.startswith(query.get("label", [""])[0]) or max(label) >= "\ud800"
    assert uri.isascii()
    assert len(uri) <= 330


def test_ton_links_name_the_jetton_so_that_the_amount_is_not_nanotons() -> None:
    parts = urlsplit(payment_uri(request_on("ton")) or "")
    assert (parts.scheme, parts.netloc) == ("ton", "transfer")
    assert parse_qs(parts.query) == {
        "jetton": [MAIN["ton"].tokens["USDT"].address],
        "amount": ["49000137"],
        "text": ["0123456789abcdef"],
    }
    recipient = Address(parts.path.removeprefix("/"))
    assert recipient.hash_part == Address(WALLETS["ton"]).hash_part
    assert recipient.is_bounceable is False


@given(st.binary(min_size=32, max_size=32), st.sampled_from([0, -1]), st.booleans())
def test_ton_addresses_are_shown_as_wallets_show_them(account: bytes, workchain: int, is_testnet: bool) -> None:
    raw = Address(f"{workchain}:{account.hex()}")
    canonical = raw.to_string(True, True, True, is_testnet)
    expected = raw.to_string(True, True, False, is_testnet)
    assert shown_address(canonical) == shown_address(expected) == expected


def test_tron_has_no_link_for_none_names_the_token() -> None:
    assert payment_uri(request_on("tron")) is None


@pytest.mark.parametrize("chain", ["base", "polygon", "ethereum", "tron"])
def test_codes_hold_the_plain_address_where_links_have_lost_money(chain: str) -> None:
    assert qr_text(request_on(chain)) == WALLETS[chain]


@pytest.mark.parametrize("chain", ["solana", "ton"])
def test_codes_hold_the_link_where_wallets_read_it(chain: str) -> None:
    assert qr_text(request_on(chain)) == payment_uri(request_on(chain))


@pytest.mark.parametrize("chain", WALLETS)
def test_a_token_that_the_settings_no_longer_name_has_no_link(chain: str) -> None:
    request = request_on(chain, token="GONE")
    assert payment_uri(request) is None
    assert wallet_links(request, page_url=PAGE) == ()
    assert qr_text(request) == shown_address(request.address)


@pytest.mark.parametrize(
    ("chain", "names"),
    [
        ("base", ["MetaMask"]),
        ("polygon", ["MetaMask"]),
        ("ethereum", ["MetaMask", "Trust Wallet"]),
        ("solana", ["Phantom"]),
        ("ton", ["Tonkeeper", "MyTonWallet"]),
        ("tron", ["TronLink", "Trust Wallet"]),
    ],
)
def test_wallet_apps_are_opened_by_their_documented_links_only(chain: str, names: list[str]) -> None:
    links = wallet_links(request_on(chain), page_url=PAGE)
    assert [link.name for link in links] == names
    assert all(link.url.isascii() for link in links)


def test_links_into_apps_carry_the_payment() -> None:
    links = {
        link.name: link.url
        for chain in ("ethereum", "ton", "tron")
        for link in wallet_links(request_on(chain), page_url=PAGE)
    }
    usdt = MAIN["tron"].tokens["USDT"].address
    assert links["Trust Wallet"] == (
        f"https://link.trustwallet.com/send?asset=c195_t{usdt}&address={WALLETS['tron']}&amount=49.000137"
    )
    assert links["MetaMask"].startswith("https://link.metamask.io/send/0x")
    assert links["MetaMask"].endswith(f"@1/transfer?address={EVM_WALLET}&uint256=49000137")
    assert links["Tonkeeper"].startswith("https://app.tonkeeper.com/transfer/UQ")
    call = json.loads(unquote(links["TronLink"].partition("param=")[2]))
    assert (call["action"], call["url"]) == ("open", PAGE)


@pytest.mark.parametrize("chain", WALLETS)
def test_no_app_is_sent_to_a_developers_own_chain(chain: str) -> None:
    assert wallet_links(request_on(chain, "local"), page_url=PAGE) == ()


def test_a_test_network_is_unknown_to_trust_wallet() -> None:
    links = wallet_links(request_on("tron", "testnet"), page_url=PAGE)
    assert [link.name for link in links] == ["TronLink"]
