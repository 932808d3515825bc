"""The shop's own check of webhooks, which merchants are shown as an example."""

import hashlib
import hmac

import pytest

from demo.shop.signature import is_genuine

SECRET = "whsec_example"
BODY = b'{"type": "checkout.completed"}'
SENT_AT = 1_700_000_000


def signed(body: bytes = BODY, secret: str = SECRET, at: str = str(SENT_AT)) -> str:
    signature = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={signature.hexdigest()}"


def accepts(header: str, *, now: float = SENT_AT) -> bool:
    return is_genuine(header, BODY, secret=SECRET, now=now)


def test_what_the_secret_signed_is_genuine() -> None:
    assert accepts(signed())


def test_during_a_rotation_either_of_two_signatures_suffices() -> None:
    old = signed(secret="whsec_old")
    assert accepts(f"{old},{signed().split(',')[1]}")


@pytest.mark.parametrize("age", [-300, 300])
def test_five_minutes_off_is_still_accepted(age: int) -> None:
    assert accepts(signed(), now=SENT_AT + age)


@pytest.mark.parametrize("age", [-301, 301])
def test_more_than_five_minutes_off_is_refused(age: int) -> None:
    assert not accepts(signed(), now=SENT_AT + age)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "t=,v1=",
        "v1=00",
        f"t={SENT_AT}",
        f"t={SENT_AT},v1=",
        f"t={SENT_AT},v1=é",
        "t=²,v1=00",
        "t=99999999999999999999,v1=00",
        signed(secret="whsec_other"),
        signed(body=BODY + b" "),
        signed().replace("v1", "v0"),
    ],
)
def test_anything_else_is_refused(header: str) -> None:
    assert not accepts(header)
