"""How JSON gets in and out."""

import io

import pytest

from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.wire import JsonParser, JsonRenderer


def test_a_body_is_one_strict_object() -> None:
    assert JsonParser().parse(io.BytesIO(b'{"a": "b"}')) == {"a": "b"}


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"a": NaN}', b"{", b"\xff"])
def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        JsonParser().parse(io.BytesIO(body))
    assert caught.value.code == "json_invalid"


def test_what_is_json_already_is_left_alone() -> None:
    renderer = JsonRenderer()
    assert renderer.render(b'{"a":1}') == b'{"a":1}'
    assert renderer.render({"a": "ä"}) == '{"a":"ä"}'.encode()
    assert renderer.render(None) == b""
