"""`POST /x402/settle` without a payment: what machines paid is sent on to the merchant's wallet."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from accounts.keys.idempotency import idempotency_key
from accounts.models import AuditEntry, IdempotencyKey, Merchant
from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError
from settlements.models import Settlement
from tests.contract.client import ApiClient, client_of
from tests.factories import make_merchant
from tests.x402.recorded import make_machine_transfer, make_seller
from wallets.states import TransferState

pytestmark = pytest.mark.django_db
PATH = "/x402/settle"
# Hardhat's second published key: anybody has it.
KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"


@pytest.fixture
def merchant(settings: Any) -> Merchant:
    """One whose forwarder on Base holds half a dollar for good."""
    settings.TRANSFER_CONSUMERS = []
    found = make_merchant()
    make_machine_transfer(
        found, make_seller(found, settings), state=TransferState.CONFIRMED, confirmed_at=timezone.now()
    )
    settings.GAS_KEYS = [KEY]
    return found


@pytest.fixture
def client(merchant: Merchant) -> ApiClient:
    """The merchant's live key."""
    return client_of(merchant, Mode.LIVE)


@pytest.mark.parametrize("body", [{}, {"chain": "base"}, {"token": "USDC"}])
def test_what_waits_is_written_down_and_told(client: ApiClient, merchant: Merchant, body: dict[str, str]) -> None:
    answer = client.send("POST", PATH, body)
    assert answer.status == 202
    [told] = answer.body["settlements"]
    settlement = Settlement.objects.get()
    assert told["id"] == settlement.public_id
    assert set(told) == {*("id", "chain", "token", "amount", "to", "status", "txHash", "created_at")}
    assert (told["chain"], told["token"], told["amount"]) == ("base", "USDC", "0.500000")
    assert (told["status"], told["txHash"]) == ("pending", None)
    again = client.send("POST", PATH, body)
    assert (again.status, again.body) == (202, {"settlements": []})


def test_nobody_settles_for_another_merchant(client: ApiClient) -> None:
    stranger = client_of(make_merchant("Elsewhere"), Mode.LIVE)
    assert stranger.send("POST", PATH, {}).body == {"settlements": []}
    assert not Settlement.objects.exists()


def test_a_test_key_moves_no_money(merchant: Merchant) -> None:
    tester = client_of(merchant, Mode.TEST)
    answer = tester.send("POST", PATH, {"chain": "base"})
    assert (answer.status, answer.body) == (202, {"settlements": []})
    assert not Settlement.objects.exists()


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"chain": "dogecoin"}, "chain", "chain_unsupported"),
        ({"chain": 7}, "chain", "parameter_invalid"),
        ({"chain": "base", "token": "USDT"}, "token", "token_unsupported"),
        ({"token": "DOGE"}, "token", "token_unsupported"),
        ({"paymentPayload": {}}, "paymentPayload", "parameter_invalid"),
        ({"payment": {}}, "payment", "parameter_invalid"),
    ],
)
def test_what_is_no_chain_no_token_or_a_payment_moves_nothing(
    client: ApiClient, body: dict[str, Any], param: str, code: str
) -> None:
    answer = client.send("POST", PATH, body)
    assert answer.refusal == (400, code, param)
    assert not Settlement.objects.exists()


def test_without_a_gas_key_it_is_a_conflict(client: ApiClient, settings: Any) -> None:
    settings.GAS_KEYS = []
    answer = client.send("POST", PATH, {})
    assert (answer.status, answer.code) == (409, "state_conflict")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("token=DOGE", "token_unsupported"),
        ("chain=dogecoin", "chain_unsupported"),
        ("status=paid", "parameter_invalid"),
    ],
)
def test_payments_are_listed_by_known_values_only(client: ApiClient, query: str, code: str) -> None:
    refused = client.get(f"/x402/payments?{query}")
    assert refused.refusal == (400, code, query.partition("=")[0])
    assert client.get("/x402/payments?token=USDC").status == 200


def test_who_settled_is_in_the_audit_log_once(client: ApiClient) -> None:
    [told] = client.send("POST", PATH, {}).body["settlements"]
    assert client.send("POST", PATH, {}).body["settlements"] == []
    entry = AuditEntry.objects.get(action="settlement.asked")
    assert (entry.object_id, entry.actor) == (told["id"], None)
    assert entry.actor_label.startswith("API key ")
    assert entry.address == client.address
    assert entry.after is not None
    assert (entry.after["amount"], entry.after["to"]) == (told["amount"], told["to"])


def test_settling_what_was_collected_takes_a_key_as_every_post_does(client: ApiClient) -> None:
    first, again = (client.send("POST", PATH, {}, HTTP_IDEMPOTENCY_KEY="k" * 200) for _ in range(2))
    assert first.body["settlements"]
    assert (again.status, again.raw, again.headers["Idempotent-Replayed"]) == (202, first.raw, "true")
    assert client.send("POST", PATH, {"chain": "base"}, HTTP_IDEMPOTENCY_KEY="k" * 200).code == "duplicate"
    assert IdempotencyKey.objects.count() == 1


def request_with(key: str | None) -> Request:
    headers = {} if key is None else {"HTTP_IDEMPOTENCY_KEY": key}
    return Request(APIRequestFactory().post("/", **headers))


@pytest.mark.parametrize(("key", "read"), [(None, ""), ("a b", "a b"), ("x" * 255, "x" * 255)])
def test_a_key_is_read_as_it_is(key: str | None, read: str) -> None:
    assert idempotency_key(request_with(key), longest=255) == read


@pytest.mark.parametrize("key", ["x" * 256, "a\x00b"])
def test_a_long_one_and_an_unprintable_one_are_refused(key: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        idempotency_key(request_with(key), longest=255)
    assert caught.value.param == "Idempotency-Key"
