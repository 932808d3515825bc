"""Signed offers and receipts (the standard's extension `offer-receipt`): what they say, who may have them, and that others verify them."""

import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from florin.receipts import x402_status_path
from gateway.core import json
from gateway.core.signing import claims_of, did_document, issuer, jwks
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from tests.checkouts.lifecycle.test_signed_receipts_foreign import judged
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, USDC_ON_BASE
from tests.gateway.core.test_signing import decoded, verify
from tests.tree import ROOT
from tests.x402.exact.bodies import RESOURCE, body_of
from tests.x402.exact.calls import settle
from tests.x402.exact.test_forms import PAYER, told_to
from tests.x402.payers import pay_to_of
from tests.x402.recorded import make_machine_transfer
from wallets.models import ChainCursor
from wallets.states import TransferState
from x402.models import Authorization, X402Payment
from x402.states import PaymentStatus

pytestmark = pytest.mark.django_db
UNITS = 10_000


def price(client: ApiClient, **changes: Any) -> dict[str, Any]:
    """One of the requirements of a 402."""
    return {
        "scheme": "exact",
        "network": "eip155:8453",
        "asset": USDC_ON_BASE,
        "payTo": client.get("/x402/config").body["payTo"]["base"],
        "amount": str(UNITS),
        "maxTimeoutSeconds": 60,
        "extra": {"name": "USD Coin", "version": "2"},
    } | changes


def offers_for(client: ApiClient, *accepts: object, resource: object = RESOURCE) -> dict[str, Any]:
    answer = client.post("/x402/offers", {"resource": resource, "accepts": [*accepts]})
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.body
    return found


def check_signed(token: str) -> dict[str, Any]:
    """Check that one of today's keys signed a token, and return its header."""
    header: dict[str, Any] = json.loads(decoded(token.split(".")[0]))
    keys = {key["kid"]: key for key in jwks(now=NOON)["keys"]}
    verify(token.encode(), keys[header["kid"]])
    return header


def test_each_of_the_requirements_is_signed_as_it_is_asked_for(tester: ApiClient) -> None:
    accepts = [price(tester), price(tester, amount="7", payTo=price(tester)["payTo"].lower())]
    told = offers_for(tester, *accepts)
    offers = told["extension"]["offer-receipt"]["info"]["offers"]
    assert [(one["format"], one["acceptIndex"]) for one in offers] == [("jws", 0), ("jws", 1)]
    for wanted, offer in zip(accepts, offers, strict=True):
        names = ("scheme", "network", "asset", "payTo", "amount")
        assert claims_of(offer["signature"].encode()) == {
            "version": 1,
            "resourceUrl": RESOURCE,
            "validUntil": told["validUntil"],
            **{name: wanted[name] for name in names},
        }
        header = check_signed(offer["signature"])
        # Without the type of a checkout's receipt; and no key of money signs for test mode.
        assert set(header) == {"alg", "kid"}
        assert header["kid"].endswith("#t1")


@pytest.mark.parametrize(
    "changes",
    [
        {"payTo": PAYER},
        {"payTo": "0x"},
        {"asset": PAYER},
        {"network": "base"},
        {"network": "eip155:56"},
        {"scheme": "deferred"},
        {"amount": "0.01"},
        {"amount": 10_000},
        {"amount": "0"},
    ],
)
def test_what_would_not_be_settled_to_the_merchant_is_not_signed(tester: ApiClient, changes: dict[str, Any]) -> None:
    body = {"resource": RESOURCE, "accepts": [price(tester), price(tester, **changes)]}
    assert tester.post("/x402/offers", body).refusal == (400, "parameter_invalid", "accepts")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"resource": "report", "accepts": []}, "resource"),
        ({"resource": 7, "accepts": []}, "resource"),
        ({"resource": RESOURCE, "accepts": {}}, "accepts"),
        ({"resource": RESOURCE, "accepts": []}, "accepts"),
        ({"resource": RESOURCE, "accepts": [None]}, "accepts"),
        ({"resource": RESOURCE, "accepts": [{}] * 33}, "accepts"),
    ],
)
def test_a_body_of_another_form_is_refused(tester: ApiClient, body: dict[str, Any], param: str) -> None:
    answer = tester.post("/x402/offers", body)
    assert (answer.status, answer.body["error"]["param"]) == (400, param)


@pytest.mark.parametrize(
    ("body", "param"),
    [({}, "resource"), ({"accepts": []}, "resource"), ({"resource": RESOURCE, "accepts": None}, "accepts")],
)
def test_what_is_absent_is_missing(tester: ApiClient, body: dict[str, Any], param: str) -> None:
    assert tester.post("/x402/offers", body).refusal == (400, "parameter_missing", param)


def test_a_live_key_offers_nothing_that_no_gas_account_settles() -> None:
    seller = client_of(mode=Mode.LIVE)
    body = {"resource": RESOURCE, "accepts": [price(client_of(seller.merchant))]}
    assert seller.post("/x402/offers", body).refusal == (400, "parameter_invalid", "accepts")


def test_an_installation_without_a_key_signs_nothing_and_says_so(tester: ApiClient, settings: Any) -> None:
    wanted, told = price(tester), told_to(tester)
    assert tester.get("/x402/supported").body["extensions"] == ["eip2612GasSponsoring", "offer-receipt"]
    settings.ENCRYPTION_KEYS = []
    assert tester.get("/x402/supported").body["extensions"] == ["eip2612GasSponsoring"]
    assert offers_for(tester, wanted)["extension"] == {}
    answer = settle(tester, body_of(told, USDC_ON_BASE) | {"receiptFor": RESOURCE})
    assert answer["success"]
    assert "extensions" not in answer


def receipt_in(answer: Mapping[str, Any]) -> str:
    receipt = answer["extensions"]["offer-receipt"]["info"]["receipt"]
    assert receipt["format"] == "jws"
    return str(receipt["signature"])


def test_a_settled_payment_has_a_receipt_that_is_the_same_for_each_repeat(tester: ApiClient) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE) | {"receiptFor": RESOURCE}
    first, second = (settle(tester, body, key="request-1") for _ in range(2))
    assert first == second
    assert claims_of(receipt_in(first).encode()) == {
        "version": 1,
        "network": "eip155:8453",
        "resourceUrl": RESOURCE,
        "payer": PAYER,
        "issuedAt": int(Authorization.objects.get().served_at.timestamp()),  # type: ignore[union-attr]
        "transaction": first["transaction"],
    }
    check_signed(receipt_in(first))
    refused = settle(tester, body, key="request-2")
    assert not refused["success"]
    assert "extensions" not in refused


def test_a_receipt_of_test_mode_is_of_no_key_that_clients_trust_by_themselves(tester: ApiClient) -> None:
    """Published verifiers take the key that a receipt names from the issuer's DID document."""
    answer = settle(tester, body_of(told_to(tester), USDC_ON_BASE) | {"receiptFor": RESOURCE})
    kid = check_signed(receipt_in(answer))["kid"]
    methods = did_document(issuer(), now=NOON)["verificationMethod"]
    assert methods
    assert kid not in {method["id"] for method in methods}


def test_a_repeat_for_another_resource_has_no_receipt(tester: ApiClient) -> None:
    """Else one payment would be evidence of as many resources as its seller names."""
    body = body_of(told_to(tester), USDC_ON_BASE)
    first = settle(tester, body | {"receiptFor": RESOURCE}, key="request-1")
    other = settle(tester, body | {"receiptFor": "https://shop.example/other"}, key="request-1")
    assert (first["success"], other["success"]) == (True, True)
    assert "extensions" not in other
    assert settle(tester, body | {"receiptFor": RESOURCE}, key="request-1") == first


def test_a_success_without_a_receipt_gets_none_later(tester: ApiClient) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE)
    settle(tester, body, key="request-1")
    assert "extensions" not in settle(tester, body | {"receiptFor": RESOURCE}, key="request-1")


def test_a_payer_cannot_have_a_receipt_signed_for_what_it_likes(tester: ApiClient) -> None:
    """Published middlewares pass on the payer's own payload, with the resource and the extensions that it names."""
    body = body_of(told_to(tester), USDC_ON_BASE)
    body["paymentPayload"] |= {
        "resource": {"url": "https://other.example/"},
        "extensions": {"offer-receipt": {}},
        "receiptFor": RESOURCE,
    }
    answer = settle(tester, body)
    assert answer["success"]
    assert "extensions" not in answer


def test_the_first_version_has_no_place_for_a_receipt(tester: ApiClient) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE, version=1) | {"receiptFor": RESOURCE}
    answer = settle(tester, body)
    assert answer["success"]
    assert "extensions" not in answer


@pytest.mark.parametrize(
    "wanted", ["", 7, [], "the report of today", "https://" + "x" * 2_041, "https://shop.example/\u0000"]
)
def test_a_receipt_for_no_resource_is_refused_before_anything_is_paid(tester: ApiClient, wanted: object) -> None:
    answer = settle(tester, body_of(told_to(tester), USDC_ON_BASE) | {"receiptFor": wanted})
    assert (answer["success"], answer["errorReason"]) == (False, "invalid_payment_requirements")
    assert not Authorization.objects.exists()


def test_a_receipt_of_money_is_signed_by_the_key_for_money_and_names_the_transaction(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    answer = settle(exact_seller, body_of(told, usdc) | {"receiptFor": RESOURCE})
    assert claims_of(receipt_in(answer).encode())["transaction"] == X402Payment.objects.get().tx_hash
    assert check_signed(receipt_in(answer))["kid"].endswith("#r1")


def test_whoever_has_a_receipt_learns_what_became_of_the_payment_and_nothing_else(
    tester: ApiClient, client: Client
) -> None:
    answer = settle(tester, body_of(told_to(tester), USDC_ON_BASE) | {"receiptFor": RESOURCE})
    path = x402_status_path(receipt_in(answer))
    found = client.get(path)
    assert found.json() == {"status": "paid", "as_of": found.json()["as_of"], "transaction": answer["transaction"]}
    assert (found["Access-Control-Allow-Origin"], found["Cache-Control"]) == ("*", "no-store")
    X402Payment.objects.update(status=PaymentStatus.REVERSED)
    assert client.get(path).json()["status"] == "reversed"
    assert client.post(path).status_code == 405


def test_what_no_watcher_recorded_before_its_network_was_stopped_is_in_doubt(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, client: Client
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    path = x402_status_path(receipt_in(settle(exact_seller, body_of(told, usdc) | {"receiptFor": RESOURCE})))
    height = X402Payment.objects.get().block_height
    assert height is not None
    cursors = ChainCursor.objects.filter(chain="base")
    for above, status in ((height - 1, "in_doubt"), (height, "paid"), (None, "in_doubt")):
        assert cursors.update(halted_reason="a fork", halted_at=timezone.now(), doubted_above=above) == 1
        assert client.get(path).json()["status"] == status
    cursors.update(halted_reason="")
    assert client.get(path).json()["status"] == "paid"


def test_a_receipt_of_anothers_transaction_is_known_after_a_reorg_made_it_another_one(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, client: Client
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    path = x402_status_path(receipt_in(settle(exact_seller, body_of(told, usdc) | {"receiptFor": RESOURCE})))
    paid, merchant = X402Payment.objects.get(), exact_seller.merchant
    assert merchant is not None
    place: dict[str, Any] = {"tx_hash": paid.tx_hash, "position": paid.position, "sender": paid.payer}
    make_machine_transfer(merchant, paid.pay_to, UNITS, state=TransferState.ORPHANED, orphaned_at=NOON, **place)
    another = "0x" + "77" * 32
    X402Payment.objects.update(tx_hash=another)
    # Without a transaction of ours.
    Authorization.objects.update(tx_hash=another, transaction=None)
    found = client.get(path).json()
    assert (found["status"], found["transaction"]) == ("paid", another)


def test_nobody_without_the_receipt_learns_of_its_payment(tester: ApiClient, client: Client) -> None:
    """A transaction is public. The digest is of what no chain says: the resource, and when it was served."""
    token = receipt_in(settle(tester, body_of(told_to(tester), USDC_ON_BASE) | {"receiptFor": RESOURCE}))
    network, transaction, digest = x402_status_path(token).split("/")[2:]
    for asked in (
        (network, transaction, "0" * 64),
        ("eip155:1", transaction, digest),
        (network, "0x" + "0" * 64, digest),
    ):
        answer = client.get(f"/receipts/{'/'.join(asked)}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "resource_missing")
    # What was served without a receipt has none to ask about.
    Authorization.objects.update(receipt_for="")
    assert client.get(x402_status_path(token)).status_code == 404


def test_a_status_of_a_receipt_is_asked_sixty_times_a_minute(client: Client) -> None:
    path = f"/receipts/eip155:8453/0x00/{'0' * 64}"
    answers = [client.get(path, REMOTE_ADDR="192.0.2.7").status_code for _ in range(61)]
    assert answers == [404] * 60 + [429]
    assert client.get(path, REMOTE_ADDR="192.0.2.8").status_code == 404


@pytest.mark.slow
def test_four_libraries_find_in_an_offer_and_a_receipt_what_was_signed(tester: ApiClient) -> None:
    offered = offers_for(tester, price(tester))["extension"]["offer-receipt"]["info"]["offers"][0]["signature"]
    settled = settle(tester, body_of(told_to(tester), USDC_ON_BASE) | {"receiptFor": RESOURCE})
    tokens = [offered.encode(), receipt_in(settled).encode()]
    for token, verdicts in zip(tokens, judged(tokens), strict=True):
        assert verdicts == [claims_of(token)] * 4


@pytest.mark.slow
def test_the_published_extension_finds_the_requirements_of_an_offer_and_the_offer_of_a_receipt(
    tester: ApiClient,
) -> None:
    accepts = [price(tester, amount="7"), price(tester)]
    told = {
        "accepts": accepts,
        "extensions": offers_for(tester, *accepts)["extension"],
        "settled": settle(tester, body_of(told_to(tester), USDC_ON_BASE) | {"receiptFor": RESOURCE}),
        "payer": PAYER,
        # It compares with the clock of today.
        "age": 10**9,
    }
    found = subprocess.run(
        ["node", str(ROOT / "tests/x402/exact/offers.mjs")],
        input=json.dumps(told).decode(),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert json.loads(found.stdout.encode()) == {"accepts": accepts, "matches": [True, True]}
