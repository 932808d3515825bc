"""Web push by its RFCs: the published vector byte for byte, and keys that follow from the configured ones."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric import ec

from tests.factories import NOON
from tests.notices.browsers import Browser
from webhooks.push import MOST_TEXT, BrowserKeys, authorization, decode, encode, encrypt, server_key

# RFC 8291, appendix A.
TEXT = b"When I grow up, I want to be a watermelon"
OUR_KEY = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
THEIR_POINT = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
MESSAGE = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
    "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)
URL = "https://updates.push.services.mozilla.com/wpush/v2/abc"


def test_the_rfcs_own_message_comes_out_byte_for_byte() -> None:
    own = ec.derive_private_key(int.from_bytes(decode(OUR_KEY), "big"), ec.SECP256R1())
    body = encrypt(TEXT, BrowserKeys.read(THEIR_POINT, AUTH), own=own, salt=decode(SALT))
    assert encode(body) == MESSAGE


def test_each_message_has_its_own_key_and_salt() -> None:
    keys = BrowserKeys.read(THEIR_POINT, AUTH)
    one, two = encrypt(TEXT, keys), encrypt(TEXT, keys)
    assert one[:16] != two[:16]
    assert one[21:86] != two[21:86]


def test_a_text_that_no_service_takes_is_refused() -> None:
    keys = BrowserKeys.read(THEIR_POINT, AUTH)
    assert len(encrypt(b"a" * MOST_TEXT, keys)) < 4_096
    with pytest.raises(ValueError, match="too long"):
        encrypt(b"a" * (MOST_TEXT + 1), keys)


@pytest.mark.parametrize(
    ("point", "auth"),
    [
        (THEIR_POINT[:-4], AUTH),
        (THEIR_POINT, AUTH[:-3]),
        ("B" + "A" * 86, AUTH),
        (encode(b"\x04" + b"\x01" * 64), AUTH),
        ("ünlesbar", AUTH),
        ("B B", AUTH),
        ("", ""),
    ],
)
def test_keys_that_no_browser_has_are_refused(point: str, auth: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the library's own words differ by release
        BrowserKeys.read(point, auth)


def test_a_subscription_keeps_its_key_after_a_rotation_while_the_old_one_is_configured(settings: Any) -> None:
    old = server_key()
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    assert server_key() != old
    assert authorization(URL, old, now=NOON).endswith(f", k={old}")
    settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
    with pytest.raises(LookupError):
        authorization(URL, old, now=NOON)


def test_without_keys_there_is_no_push(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = []
    assert server_key() == ""


def test_a_foreign_library_reads_the_message_and_knows_who_sent_it() -> None:
    browser = Browser(url=URL)
    body = encrypt('{"title":"12.50 USDC für Sie"}'.encode(), BrowserKeys.read(browser.p256dh, browser.auth))
    read = browser.reads(body, authorization(URL, server_key(), now=NOON), at=NOON)
    assert read["note"] == {"title": "12.50 USDC für Sie"}
    assert read["key"] == server_key()
    assert 0 < read["claims"]["exp"] - NOON.timestamp() <= 86_400
    assert read["claims"]["sub"].startswith(("https://", "mailto:"))
