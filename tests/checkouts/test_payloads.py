"""A checkout as the API and webhooks show it: its payment, its transfers, its sums."""

from datetime import datetime, timedelta
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey
from tonsdk.utils import Address

from accounts.states import Mode
from checkouts import selectors
from checkouts.options import payment_uri, qr_text
from checkouts.selectors import CheckoutFilter, checkout_page
from checkouts.states import CheckoutStatus
from gateway.core.api.pagination import Page
from tests.contract.client import ApiClient
from tests.contract.payments import BRING_TO, expire, pay
from tests.contract.reading import read
from tests.contract.test_create import OPTION_FIELDS
from tests.factories import NOON, make_checkout, make_merchant
from wallets.chains.family import PaymentRequest
from wallets.chains.registry import load_chains
from wallets.models import ChainCursor
from wallets.networks import shown_address

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


@pytest.mark.parametrize("status", CheckoutStatus)
def test_payment_is_null_exactly_while_pending_or_expired(seller: ApiClient, status: CheckoutStatus) -> None:
    checkout_id = seller.created()["id"]
    BRING_TO[status](checkout_id)
    body = read(seller, checkout_id)
    assert body["status"] == status
    assert (body["payment"] is None) is (status in {"pending", "expired"})


def test_a_part_paid_checkout_that_expires_shows_no_payment_and_keeps_its_transfer(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, 50)
    expire(checkout_id)
    body = read(seller, checkout_id)
    assert (body["status"], body["payment"]) == ("expired", None)
    assert [transfer["amount"] for transfer in body["transfers"]] == ["12.500000"]
    assert body["amount_received"] == "12.500000"


def test_a_completed_checkout_shows_its_payment(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    transfer = pay(checkout_id)
    body = read(seller, checkout_id)
    assert body["payment"] == {
        "amount_crypto": "25.000000",
        "crypto_currency": "USDC",
        "network": "base",
        "tx_hash": transfer.tx_hash,
        "sender_address": transfer.sender,
        "confirmed_at": body["transfers"][0]["confirmed_at"],
    }
    assert datetime.fromisoformat(body["payment"]["confirmed_at"]).tzinfo is not None
    assert body["paid_at"] is not None
    assert (body["amount_received"], body["amount_remaining"]) == ("25.000000", "0.000000")


def test_a_payment_that_is_not_final_has_no_confirmation_time(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, final=False)
    ChainCursor.objects.filter(chain="base").update(head=104)
    body = read(seller, checkout_id)
    assert body["payment"]["confirmed_at"] is None
    [transfer] = body["transfers"]
    assert set(transfer) == {
        "chain",
        "token",
        "amount",
        "tx_hash",
        "position",
        "sender_address",
        "confirmations",
        "required_confirmations",
        "status",
        "in_doubt",
        "detected_at",
        "confirmed_at",
    }
    assert transfer["status"] == "detected"
    assert (transfer["confirmations"], transfer["required_confirmations"]) == (5, 12)


def test_several_transfers_add_up_and_the_completing_one_is_shown(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, 40)
    short = read(seller, checkout_id)
    assert (short["status"], short["exception"]) == ("underpaid", "underpaid")
    assert short["amount_remaining"] == "15.000000"
    last = pay(checkout_id, 60, chain="polygon", token="USDT")
    body = read(seller, checkout_id)
    assert (body["status"], body["exception"]) == ("completed", None)
    assert body["payment"]["amount_crypto"] == "25.000000"
    assert body["payment"]["network"] == "polygon"
    assert body["payment"]["crypto_currency"] == "USDT"
    assert body["payment"]["tx_hash"] == last.tx_hash
    assert len(body["transfers"]) == 2


# Links and QR codes say exactly what is to be paid, in each chain's own grammar.


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
    assert qr_text(request) == shown_address(request.address)


# The chain options of a checkout, chosen through the API.


@pytest.mark.parametrize(("chain", "token"), [("base", "USDC"), ("polygon", "USDC"), ("polygon", "USDT")])
def test_choosing_an_option_fills_it_and_may_be_repeated(tester: ApiClient, chain: str, token: str) -> None:
    checkout = tester.created()
    path = f"/checkouts/{checkout['id']}/options"
    first = tester.post(path, {"chain": chain, "token": token})
    assert first.status == 200
    assert set(first.body) == OPTION_FIELDS
    assert first.body["chain"] == chain
    assert first.body["payAmount"] == "25.000000"
    assert first.body["address"] == next(
        option["address"] for option in checkout["available_chains"] if option["chain"] == chain
    )
    assert tester.post(path, {"chain": chain, "token": token}).body == first.body


@pytest.mark.parametrize(
    ("choice", "code", "param"),
    [
        ({}, "parameter_missing", "chain"),
        ({"chain": "base"}, "parameter_missing", "token"),
        ({"token": "USDC"}, "parameter_missing", "chain"),
        ({"chain": None, "token": "USDC"}, "parameter_missing", "chain"),
        ({"chain": "bitcoin", "token": "USDC"}, "chain_unsupported", "chain"),
        ({"chain": "Base", "token": "USDC"}, "chain_unsupported", "chain"),
        ({"chain": "base", "token": "USDT"}, "token_unsupported", "token"),
        ({"chain": "base", "token": "usdc"}, "token_unsupported", "token"),
        ({"chain": ["base"], "token": "USDC"}, "parameter_invalid", "chain"),
        ({"chain": "base", "token": {"a": 1}}, "parameter_invalid", "token"),
        ({"chain": "base", "token": 1.5}, "parameter_invalid", "token"),
        ({"chain": "b" * 99, "token": "USDC"}, "parameter_too_long", "chain"),
    ],
)
def test_other_choices_are_refused(tester: ApiClient, choice: dict[str, Any], code: str, param: str) -> None:
    path = f"/checkouts/{tester.created()['id']}/options"
    assert tester.post(path, choice).refusal == (400, code, param)


def test_a_chain_that_was_not_offered_cannot_be_chosen(seller: ApiClient) -> None:
    path = f"/checkouts/{seller.created()['id']}/options"
    answer = seller.post(path, {"chain": "ethereum", "token": "USDC"})
    assert answer.refusal == (400, "chain_unsupported", "chain")


@pytest.mark.parametrize("status", ["completed", "expired", "processing"])
def test_a_checkout_that_takes_no_money_takes_no_choice(seller: ApiClient, status: CheckoutStatus) -> None:
    checkout_id = seller.created()["id"]
    BRING_TO[CheckoutStatus(status)](checkout_id)
    answer = seller.post(f"/checkouts/{checkout_id}/options", {"chain": "base", "token": "USDC"})
    assert answer.refusal == (409, "state_conflict", None)


def test_an_underpaid_checkout_asks_for_the_rest(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, 40)
    answer = seller.post(f"/checkouts/{checkout_id}/options", {"chain": "base", "token": "USDC"})
    assert answer.body["payAmount"] == "15.000000"
    assert answer.body["paymentUri"].endswith("uint256=15000000")


# Deep pages of the API's list: whole days are passed over, and each page has the rows it had without.


@pytest.mark.parametrize("jitter", [0, 30])
def test_a_deep_page_has_the_rows_it_had_without_the_days(monkeypatch: pytest.MonkeyPatch, jitter: int) -> None:
    merchant, chance = make_merchant(), Random(1)
    for number in range(40):
        # With jitter, keys and days are in different orders where two days meet.
        hours = number * 4 + chance.randrange(-jitter, jitter + 1)
        make_checkout(merchant, created_at=NOON + timedelta(hours=hours))
        make_checkout(created_at=NOON + timedelta(hours=hours))
    wanted = CheckoutFilter(merchant.pk, Mode.LIVE, None, None, None, {})

    def ids(offset: int, limit: int) -> list[str]:
        page = Page(limit, offset, None, include_total=False)
        return [row["id"] for row in checkout_page(wanted, page)]

    everything = ids(0, 100)
    assert len(everything) == 40
    monkeypatch.setattr(selectors, "_FEW", 1)
    marks = set()
    for offset in range(43):
        assert ids(offset, 7) == everything[offset : offset + 7]
        marks.add(selectors._mark_before(wanted, offset))
    assert len(marks) > 2
