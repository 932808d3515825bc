"""Finding references in metadata. Pure."""

from typing import Any

import pytest

from checkouts.creation.references import MAX_LENGTH, camel_case, reference_in
from gateway.core import json


@pytest.mark.parametrize(("name", "camel"), [("user_id", "userId"), ("order_ref", "orderRef"), ("plain", "plain")])
def test_each_key_has_a_camel_case_spelling(name: str, camel: str) -> None:
    assert camel_case(name) == camel


@pytest.mark.parametrize(
    ("reference", "keys"),
    [
        ("customer_ref", ["customer_ref", "customerRef", "user_id", "userId"]),
        ("product_ref", ["product_ref", "productRef", "package_code", "packageCode"]),
        ("order_ref", ["order_ref", "orderRef", "reference_id", "referenceId", "order_id", "orderId"]),
    ],
)
def test_keys_are_tried_in_the_specifications_order(reference: str, keys: list[str]) -> None:
    metadata = {key: f"from {key}" for key in reversed(keys)}
    for key in keys:
        assert reference_in(metadata, reference) == f"from {key}"
        del metadata[key]
    assert reference_in(metadata, reference) == ""


@pytest.mark.parametrize(
    ("spelled", "text"),
    [
        (b"42", "42"),
        (b"0", "0"),
        (b"-7", "-7"),
        (b"1.10", "1.10"),
        (b"1e400", "1e400"),
        (b"12345678901234567890123", "12345678901234567890123"),
        (b'"42"', "42"),
        (b'" 4 "', " 4 "),
    ],
)
def test_numbers_become_the_text_they_were_sent_as(spelled: bytes, text: str) -> None:
    metadata = json.loads(b'{"user_id":' + spelled + b"}")
    assert reference_in(metadata, "customer_ref") == text


@pytest.mark.parametrize(
    "unusable", ["", " ", "\u200b", "x" * (MAX_LENGTH + 1), None, True, False, [], {}, ["a"], "a\x00", "\ud800"]
)
def test_what_is_unusable_is_passed_over(unusable: Any) -> None:
    assert reference_in({"customer_ref": unusable}, "customer_ref") == ""
    metadata = {"customer_ref": unusable, "userId": "u"}
    assert reference_in(metadata, "customer_ref") == "u"


def test_a_number_longer_than_a_reference_is_passed_over() -> None:
    metadata = json.loads(b'{"user_id":' + b"9" * (MAX_LENGTH + 1) + b"}")
    assert reference_in(metadata, "customer_ref") == ""


def test_keys_are_spelled_exactly_and_at_the_top_and_values_may_be_as_long_as_a_reference() -> None:
    others = {"CUSTOMER_REF": "c", "userid": "c", "nested": {"user_id": "c"}}
    assert reference_in(others, "customer_ref") == ""
    assert reference_in(others | {"user_id": "x" * MAX_LENGTH}, "customer_ref") == "x" * MAX_LENGTH
