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
    "body",
    [
        b"",
        b"{",
        b"nan",
        b"[NaN]",
        b'{"a":Infinity}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"\xef\xbb\xbf{}",
    ],
)
def test_what_is_not_json_is_a_value_error(body):
    with pytest.raises(json.NotJsonError):
        json.loads(body)


def test_a_lone_surrogate_cannot_be_written():
    with pytest.raises(json.NotJsonError):
        json.dumps(json.loads(b'{"a":"\\ud800"}'))
