"""Codes of claim pages: shown again from the keys, and never stored."""

import re
from typing import Any

import pytest
from cryptography.fernet import Fernet

from payouts.lifecycle.claims import claim_code, claim_url, claimed_payout, new_claim
from payouts.lifecycle.service import set_address
from payouts.states import AddressBy
from tests.factories import NOON
from tests.payouts.factories import BUYER, make_paid, make_payout, refund_of

pytestmark = pytest.mark.django_db
KEYS = [Fernet.generate_key().decode() for _ in range(2)]


def test_a_code_is_shown_again_and_its_row_does_not_have_it() -> None:
    asked = refund_of(make_paid())
    payout = asked.payout
    assert re.fullmatch(r"[0-9a-hjkmnp-tv-z]{20}", asked.code)
    assert claim_code(payout) == asked.code
    assert claim_url(asked.code).endswith(f"/r/{asked.code}")
    stored = [getattr(payout, field.attname) for field in payout._meta.concrete_fields]
    assert not any(asked.code in str(value) for value in stored)


def test_a_code_finds_its_payout_and_another_finds_none() -> None:
    asked = refund_of(make_paid())
    assert claimed_payout(asked.code) == asked.payout
    assert claimed_payout(asked.code.upper()) == asked.payout
    for wrong in ("", "0" * 20, asked.code[:-1], "é" * 20, asked.code + "\x00"):
        assert claimed_payout(wrong) is None


def test_a_changed_address_keeps_the_link() -> None:
    asked = refund_of(make_paid())
    set_address(asked.payout, address=BUYER, by=AddressBy.CLAIM, now=NOON)
    assert claimed_payout(asked.code) == asked.payout


def test_the_link_outlives_a_rotation_of_keys(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = KEYS[:1]
    asked = refund_of(make_paid())
    settings.ENCRYPTION_KEYS = KEYS[::-1]
    assert claim_code(asked.payout) == asked.code
    settings.ENCRYPTION_KEYS = KEYS[1:]
    assert claim_code(asked.payout) is None


def test_without_a_key_the_link_is_shown_once(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = []
    asked = refund_of(make_paid())
    assert claimed_payout(asked.code) == asked.payout
    assert claim_code(asked.payout) is None
    assert new_claim("po")[0] != new_claim("po")[0]


def test_a_payout_with_an_address_has_no_link() -> None:
    assert claim_code(make_payout()) is None
