"""Which URLs outsiders may name."""

from typing import Any

import pytest

from checkouts.creation.forms import parse_create
from checkouts.inputs import NewCheckout
from gateway.core.api.errors import InvalidRequestError
from gateway.core.web_urls import UrlPolicy

STRICT = UrlPolicy(https_only=True, loopback_allowed=False)


LENIENT = UrlPolicy(https_only=False, loopback_allowed=True)


LEAST = {"amount": "25", "currency": "USD"}


def read(policy: UrlPolicy = STRICT, **fields: Any) -> NewCheckout:
    return parse_create(LEAST | fields, policy)


def refusal(policy: UrlPolicy = STRICT, **fields: Any) -> tuple[str | None, str | None]:
    with pytest.raises(InvalidRequestError) as caught:
        read(policy, **fields)
    return caught.value.param, caught.value.code


@pytest.mark.parametrize(
    ("policy", "url", "code"),
    [
        (STRICT, "http://shop.example.test/", "url_forbidden"),
        (LENIENT, "http://shop.example.test/", None),
        (STRICT, "https://127.0.0.1/", "url_forbidden"),
        (LENIENT, "http://127.0.0.1:8001/", None),
        (LENIENT, "http://[::1]/", None),
        (LENIENT, "http://localhost/", None),
        (STRICT, "https://localhost/", "url_forbidden"),
        (LENIENT, "http://10.0.0.1/", "url_forbidden"),
        (LENIENT, "http://169.254.169.254/latest/meta-data/", "url_forbidden"),
        (STRICT, "https://8.8.8.8/", None),
    ],
)
def test_webhook_urls_follow_the_policy(policy: UrlPolicy, url: str, code: str | None) -> None:
    if code is None:
        assert read(policy, webhook_url=url).webhook_url == url
    else:
        assert refusal(policy, webhook_url=url) == ("webhook_url", code)
