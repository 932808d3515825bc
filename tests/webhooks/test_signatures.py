"""Signatures, judged by the verifiers that other people published."""

import time
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest
import standardwebhooks
import stripe

from webhooks.signatures import new_secret, sign

BODY = '{"id":"evt_1","data":{"metadata":{"é":"ü"}}}'.encode()
SECRET = new_secret()
OLD_SECRET = new_secret()


Verify = Callable[[bytes, dict[str, str], str], None]


def headers_at(timestamp: int) -> dict[str, str]:
    return sign(BODY, message_id="evt_1", timestamp=timestamp, secrets=[SECRET, OLD_SECRET])


def verify_by_stripe(body: bytes, headers: dict[str, str], secret: str) -> None:
    stripe.WebhookSignature.verify_header(body.decode(), headers["X-Service-Signature"], secret, tolerance=300)


def verify_by_standard_webhooks(body: bytes, headers: dict[str, str], secret: str) -> None:
    standardwebhooks.Webhook(secret).verify(body, headers)


VERIFIERS = [
    pytest.param(verify_by_stripe, stripe.SignatureVerificationError, id="stripe"),
    pytest.param(verify_by_standard_webhooks, standardwebhooks.WebhookVerificationError, id="standardwebhooks"),
]


def test_a_secret_is_its_prefix_and_32_bytes_and_no_two_are_alike() -> None:
    assert SECRET.startswith("whsec_")
    assert len(b64decode(SECRET.removeprefix("whsec_"))) == 32
    assert SECRET != OLD_SECRET


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET], ids=["current", "rotated"])
@pytest.mark.parametrize(("verify", "_refusal"), VERIFIERS)
def test_published_verifiers_accept_either_secret(verify: Verify, _refusal: type[Exception], secret: str) -> None:
    verify(BODY, headers_at(int(time.time())), secret)


@pytest.mark.parametrize(("verify", "refusal"), VERIFIERS)
def test_a_tampered_body_is_refused(verify: Verify, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        verify(BODY + b" ", headers_at(int(time.time())), SECRET)


@pytest.mark.parametrize(("verify", "refusal"), VERIFIERS)
def test_another_secret_is_refused(verify: Verify, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        verify(BODY, headers_at(int(time.time())), new_secret())


@pytest.mark.parametrize(("verify", "refusal"), VERIFIERS)
def test_a_time_more_than_300_seconds_ago_is_refused(verify: Verify, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        verify(BODY, headers_at(int(time.time()) - 310), SECRET)


def test_the_header_has_one_v1_for_each_secret() -> None:
    value = headers_at(1_795_000_000)["X-Service-Signature"]
    time_part, *signatures = value.split(",")
    assert time_part == "t=1795000000"
    assert [part[:3] for part in signatures] == ["v1=", "v1="]
    assert all(len(part) == 3 + 64 for part in signatures)


def test_the_headers_name_is_a_setting(settings: Any) -> None:
    settings.WEBHOOK_SIGNATURE_HEADER = "X-Florin-Signature"
    assert "X-Florin-Signature" in headers_at(1)
