"""The Idempotency-Key of a request."""

import pytest
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from gateway.core.api.errors import InvalidRequestError
from x402.idempotency import idempotency_key


def request_with(key: str | None) -> Request:
    headers = {} if key is None else {"HTTP_IDEMPOTENCY_KEY": key}
    return Request(APIRequestFactory().post("/", **headers))


@pytest.mark.parametrize(("key", "read"), [(None, ""), ("a b", "a b"), ("x" * 255, "x" * 255)])
def test_a_key_is_read_as_it_is(key: str | None, read: str) -> None:
    assert idempotency_key(request_with(key)) == read


@pytest.mark.parametrize("key", ["x" * 256, "a\x00b"])
def test_a_long_one_and_an_unprintable_one_are_refused(key: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        idempotency_key(request_with(key))
    assert caught.value.param == "Idempotency-Key"
