"""What a paying wallet is given: formats that others define, and a digest that people compare."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from payouts.batches.instructions import PayingOrder, PayoutLine, order_of, read_line, safe_checksum
from payouts.outflows.matching import names_of
from tests.factories import USDC_ON_BASE
from tests.payouts.factories import BUYER, OTHER_BUYER
from wallets.networks import chains

SAFE = "0x10A19e7eE7d7F8a52822f6817de8ea18204F2e4f"
AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
TON_WALLET = "0:" + "1A" * 32
SOLANA_WALLET = "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"

# Published by others: BalancerMaxis/multisig-ops, BIPs/2024-W16/BIP-518-5.json; 5afe/safe-cli-nodejs,
# TRANSACTION_BUILDER_FORMAT_ANALYSIS.md.
PUBLISHED = [
    (
        ("1703107040104", "1.16.3", SAFE),
        ("to", "value", "transfer", "0x811912c19eEF91b9Dc3cA52fc426590cFB84FC86", "29000000000"),
        "0x1f440bb1b31ed23dce797e5957ac2a5749add1074f8540f0ff0a158e4b248003",
    ),
    (
        ("1761326849944", "1.18.2", "0xA77DE01e157f9f57C7c4A326eeE9C4874D0598b6"),
        ("spender", "value", "approve", "0x474e5Ded6b5D078163BFB8F6dBa355C3aA5478C8", "100000000000"),
        "0x8b5032f716845c8b08bab3d63dbd9ba92e056f3557793cd041e59b84e16aa989",
    ),
]


def order(chain: str = "base", token: str = "USDC", lines: list[PayoutLine] | None = None) -> PayingOrder:
    found = lines or [PayoutLine("po_live_b", OTHER_BUYER, 1), PayoutLine("po_live_a", BUYER, 12_500_000)]
    return order_of("pob_live_1", chains()[chain], token, found)


def published(of: tuple[str, str, str], call: tuple[str, str, str, str, str]) -> dict[str, Any]:
    created, version, safe = of
    first, second, name, to, value = call
    return {
        "version": "1.0",
        "chainId": "1",
        "createdAt": int(created),
        "meta": {
            "name": "Transactions Batch",
            "description": "",
            "txBuilderVersion": version,
            "createdFromSafeAddress": safe,
            "createdFromOwnerAddress": "",
            "checksum": "",
        },
        "transactions": [
            {
                "to": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
                "value": "0",
                "data": None,
                "contractMethod": {
                    "inputs": [
                        {"internalType": "address", "name": first, "type": "address"},
                        {"internalType": "uint256", "name": second, "type": "uint256"},
                    ],
                    "name": name,
                    "payable": False,
                },
                "contractInputsValues": {first: to, second: value},
            }
        ],
    }


@pytest.mark.parametrize(("of", "call", "checksum"), PUBLISHED)
def test_the_checksum_is_that_of_published_files(of: Any, call: Any, checksum: str) -> None:
    file = published(of, call)
    assert safe_checksum(file) == checksum
    file["meta"]["name"] = "Another name"
    assert safe_checksum(file) == checksum
    file["transactions"][0]["contractInputsValues"]["value"] = "1"
    assert safe_checksum(file) != checksum


def test_a_safes_file_transfers_each_line_and_names_the_digest() -> None:
    made = order()
    file = json.loads(made.safe_file(SAFE, at=AT))
    assert file["chainId"] == "8453"
    assert file["createdAt"] == int(AT.timestamp() * 1000)
    assert file["meta"]["createdFromSafeAddress"] == SAFE
    assert made.digest()[:8] in file["meta"]["name"]
    assert file["meta"]["checksum"] == safe_checksum(file)
    called = [(one["to"], one["value"], one["contractInputsValues"]) for one in file["transactions"]]
    assert called == [
        (USDC_ON_BASE, "0", {"to": BUYER, "value": "12500000"}),
        (USDC_ON_BASE, "0", {"to": OTHER_BUYER, "value": "1"}),
    ]


def test_the_digest_is_the_hash_of_the_list_whatever_order_its_lines_came_in() -> None:
    made = order()
    assert made.csv().splitlines() == [
        "address,amount,token,chain,payout id",
        f"{BUYER},12.500000,USDC,base,po_live_a",
        f"{OTHER_BUYER},0.000001,USDC,base,po_live_b",
    ]
    assert made.digest() == hashlib.sha256(made.csv().encode()).hexdigest()
    assert order(lines=list(reversed(made.lines))).digest() == made.digest()
    for changed in (PayoutLine("po_live_a", OTHER_BUYER, 12_500_000), PayoutLine("po_live_a", BUYER, 12_500_001)):
        assert order(lines=[changed, made.lines[1]]).digest() != made.digest()


def test_calls_are_transfers_of_the_token() -> None:
    first, second = order().calls()
    assert first == {"to": USDC_ON_BASE, "data": f"0xa9059cbb{BUYER[2:].lower():0>64}{12_500_000:064x}"}
    assert second["data"].endswith(f"{1:064x}")


def test_where_wallets_take_no_calls_there_are_none() -> None:
    assert order().takes_calls
    assert not order("solana", lines=[PayoutLine("po_live_a", SOLANA_WALLET, 1)]).takes_calls


def test_a_code_is_a_payment_link_or_the_address_where_wallets_misread_links() -> None:
    assert order().code(order().lines[0]) == BUYER
    paid = order("solana", lines=[PayoutLine("po_live_a", SOLANA_WALLET, 1_250_000)])
    code = paid.code(paid.lines[0])
    assert code.startswith(f"solana:{SOLANA_WALLET}?")
    assert "amount=1.25" in code


@pytest.mark.parametrize(
    ("chain", "token", "wallet", "name"),
    [("solana", "USDC", SOLANA_WALLET, "reference"), ("ton", "USDT", TON_WALLET, "text")],
)
def test_a_link_carries_what_names_its_payout(chain: str, token: str, wallet: str, name: str) -> None:
    paid = order(chain, token, lines=[PayoutLine("po_live_a", wallet, 1_250_000)])
    [told] = parse_qs(urlsplit(paid.code(paid.lines[0])).query)[name]
    assert told in names_of("po_live_a")
    assert told not in names_of("po_live_b")


def test_a_line_is_read_as_it_was_stored() -> None:
    line = PayoutLine("po_live_a", BUYER, 2**255)
    assert read_line("po_live_a", line.raw()) == line
