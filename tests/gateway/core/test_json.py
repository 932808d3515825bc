import sys

import pytest

from gateway.core import json


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1.10,"b":123456789012345678901234567890,"c":1e400,"d":-0.0}',
        '{"z":"é","a":{"y":1,"b":[true,null]}}'.encode(),
    ],
)
def test_numbers_and_key_order_come_back_as_they_were_spelled(text):
    assert json.dumps(json.loads(text)) == text


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nan", b"[NaN]", b'{"a":Infinity}', b"\xff\xfe", b"[" * 100_000, b"\xef\xbb\xbf{}"]
)
def test_what_is_not_json_is_a_value_error(body):
    with pytest.raises(json.NotJsonError):
        json.loads(body)


def test_the_canonical_form_has_names_in_order_and_keeps_the_spelling_of_numbers():
    value = json.loads(b'{"b": 1.10, "a": [{"d": 1, "c": "x"}, 2]}')
    assert json.canonical(value) == b'{"a":[{"c":"x","d":1},2],"b":1.10}'
    with pytest.raises(json.NotJsonError):
        json.canonical({"a": "\ud800"})


def test_a_string_without_an_end_is_read_once():
    """Two hundred thousand escaped quotes took minutes when each of them was tried as the beginning of a string."""
    body = b"[" * (json.MAX_DEPTH + 1) + b'"' + b'\\"' * 100_000
    with pytest.raises(json.NotJsonError):
        json.loads(body)
    with pytest.raises(json.NotJsonError):
        json.loads(body + b"\\")


def test_a_lone_surrogate_cannot_be_written():
    with pytest.raises(json.NotJsonError):
        json.dumps(json.loads(b'{"a":"\\ud800"}'))


def test_nesting_is_measured_before_anything_recurses():
    """py_ecc raises the recursion limit to 100,000, where the standard decoder overruns the stack and dies."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        with pytest.raises(json.NotJsonError, match="deeply"):
            json.loads(b'{"a":' * 50_000)
    finally:
        sys.setrecursionlimit(limit)


def test_brackets_inside_strings_are_no_nesting():
    text = b'{"a":"' + b'[{\\"' * 300 + b'"}'
    assert json.loads(text) == {"a": '[{"' * 300}


def test_as_deep_as_allowed_is_read():
    deep = b"[" * json.MAX_DEPTH + b"]" * json.MAX_DEPTH
    assert json.dumps(json.loads(deep)) == deep
