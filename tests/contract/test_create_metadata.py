"""POST /checkouts: metadata comes back as it was sent, and references are found in it."""

import json
from typing import Any

import pytest

from tests.contract.client import ApiClient

pytestmark = pytest.mark.django_db

INVALID = "parameter_invalid"


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "metadata",
    [
        "{}",
        '{"z":1,"a":2,"m":{"y":1,"b":2}}',
        '{"price":1.10,"tiny":1e-400,"huge":1E+400,"zero":0.000}',
        '{"n":123456789012345678901234567890,"m":-9223372036854775809}',
        '{"é":"日本 🧋","escape":"\\"\\\\\\n","nul":"\\u0000"}',
        '{"deep":' + "[" * 200 + "]" * 200 + "}",
        '{"a":[true,false,null,"",{},[]]}',
        '{"":"an empty key","__proto__":{"x":1}}',
    ],
)
def test_metadata_comes_back_as_it_was_sent(tester: ApiClient, metadata: str) -> None:
    sent = f'{{"amount":"25","currency":"USD","metadata":{metadata}}}'.encode()
    created = tester.post("/checkouts", sent)
    assert created.status == 201
    wanted = f'"metadata":{metadata},'.encode()
    assert wanted in created.raw
    path = f"/checkouts/{created.body['id']}"
    assert wanted in tester.get(path).raw
    assert wanted in tester.get("/checkouts").raw


def test_metadata_is_measured_as_compact_utf8(tester: ApiClient) -> None:
    fits = {"é": "x" * (4096 - len(compact({"é": ""})))}
    assert len(compact(fits)) == 4096
    spaced = json.dumps({"amount": "25", "currency": "USD", "metadata": fits}, indent=40)
    answer = tester.post("/checkouts", spaced.encode())
    assert answer.status == 201
    assert answer.body["metadata"] == fits
    fits["é"] += "x"
    refused = tester.create(metadata=fits)
    assert refused.refusal == (400, "metadata_too_large", "metadata")


@pytest.mark.parametrize("metadata", [[], "{}", 1, 1.5, True, "", [{}]])
def test_metadata_is_an_object(tester: ApiClient, metadata: Any) -> None:
    assert tester.create(metadata=metadata).refusal == (400, INVALID, "metadata")


def test_metadata_nested_past_what_can_be_written_is_refused(tester: ApiClient) -> None:
    deep = b'{"amount":"25","currency":"USD","metadata":{"a":%s%s}}'
    answer = tester.post("/checkouts", deep % (b"[" * 1500, b"]" * 1500))
    assert answer.status == 400


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({"customer_ref": "c"}, {"customer_ref": "c"}),
        ({"customerRef": "c"}, {"customer_ref": "c"}),
        ({"user_id": "c"}, {"customer_ref": "c"}),
        ({"userId": "c"}, {"customer_ref": "c"}),
        ({"product_ref": "p"}, {"product_ref": "p"}),
        ({"productRef": "p"}, {"product_ref": "p"}),
        ({"package_code": "p"}, {"product_ref": "p"}),
        ({"packageCode": "p"}, {"product_ref": "p"}),
        ({"order_ref": "o"}, {"order_ref": "o"}),
        ({"orderRef": "o"}, {"order_ref": "o"}),
        ({"reference_id": "o"}, {"order_ref": "o"}),
        ({"referenceId": "o"}, {"order_ref": "o"}),
        ({"order_id": "o"}, {"order_ref": "o"}),
        ({"orderId": "o"}, {"order_ref": "o"}),
        ({"order_id": "3", "reference_id": "2", "order_ref": "1"}, {"order_ref": "1"}),
        ({"order_id": "3", "referenceId": "2"}, {"order_ref": "2"}),
        ({"user_id": "2", "customerRef": "1"}, {"customer_ref": "1"}),
        ({"user_id": 42}, {"customer_ref": "42"}),
        ({"customer_ref": "", "user_id": "u"}, {"customer_ref": "u"}),
        ({"customer_ref": {"id": 1}, "user_id": "u"}, {"customer_ref": "u"}),
        ({"customer_ref": "x" * 129, "user_id": "u"}, {"customer_ref": "u"}),
        ({"customer_ref": "x" * 128}, {"customer_ref": "x" * 128}),
        ({"customer_ref": "x" * 129}, {}),
        ({"customer_ref": None, "product_ref": True, "order_ref": ["o"]}, {}),
        ({"CUSTOMER_REF": "c", "userid": "c", "nested": {"user_id": "c"}}, {}),
    ],
)
def test_references_are_read_from_metadata(tester: ApiClient, metadata: dict[str, Any], found: dict[str, str]) -> None:
    body = tester.created(metadata=metadata)
    nothing = dict.fromkeys(("customer_ref", "product_ref", "order_ref"))
    armed = {"ambiguity_resolution_armed": False}
    assert body["references"] == nothing | found | armed
    assert body["metadata"] == metadata
    assert tester.get(f"/checkouts/{body['id']}").body["references"] == body["references"]


def test_numbers_in_metadata_are_read_as_they_are_spelled(tester: ApiClient) -> None:
    sent = b'{"amount":"25","currency":"USD","metadata":{"user_id":1.10,"package_code":123456789012345678901234567890}}'
    references = tester.post("/checkouts", sent).body["references"]
    assert references["customer_ref"] == "1.10"
    assert references["product_ref"] == "123456789012345678901234567890"
    assert references["ambiguity_resolution_armed"] is True


def test_top_level_references_win(tester: ApiClient) -> None:
    metadata = {"customer_ref": "m", "product_ref": "m", "order_ref": "m"}
    body = tester.created(metadata=metadata, customer_ref="t", order_ref="t")
    assert body["references"] == {
        "customer_ref": "t",
        "product_ref": "m",
        "order_ref": "t",
        "ambiguity_resolution_armed": True,
    }


@pytest.mark.parametrize(
    ("given", "armed"),
    [
        ({"customer_ref": "c", "product_ref": "p"}, True),
        ({"customer_ref": "c"}, False),
        ({"product_ref": "p"}, False),
        ({"customer_ref": "c", "product_ref": "", "order_ref": "o"}, False),
    ],
)
def test_both_references_arm_the_resolution_of_ambiguity(tester: ApiClient, given: dict[str, str], armed: bool) -> None:
    references = tester.created(**given)["references"]
    assert references["ambiguity_resolution_armed"] is armed
