"""Signed receipts are checked by what others publish, and whatever is changed in one is noticed."""

import json
import subprocess
from typing import Any, Final

import pytest
from cryptography.fernet import Fernet
from pytest_django.live_server_helper import LiveServer

from accounts.brand.facts import with_brand
from accounts.states import Mode
from checkouts.lifecycle.signed_receipts import signed_receipt
from checkouts.models import Checkout
from gateway.core.signing import claims_of, jwks
from tests.checkouts.factories import make_completed
from tests.factories import NOON
from tests.gateway.core.test_signing import decoded
from tests.tree import ROOT
from tests.x402.exact.environment import foreign_python

pytestmark = pytest.mark.slow

BY_PYPI: Final = ROOT / "tests/x402/exact/foreign/receipts.py"
BY_NPM: Final = ROOT / "tests/checkouts/foreign/receipts.mjs"
_SECONDS: Final = 120

Verdict = dict[str, Any] | None


def run(command: list[str], asked: Any) -> list[list[Verdict]]:
    told = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, timeout=_SECONDS, check=False, cwd=ROOT
    )
    assert told.returncode == 0, told.stderr
    found: list[list[Verdict]] = json.loads(told.stdout)
    return found


def judged(tokens: list[bytes]) -> list[list[Verdict]]:
    """What joserfc, PyJWT, jose and @x402/extensions say of each token, with the keys of today's JWK Set."""
    asked = {"jwks": jwks(now=NOON), "tokens": [token.decode() for token in tokens]}
    pypi = run([foreign_python(), str(BY_PYPI)], asked)
    npm = run(["node", str(BY_NPM)], asked)
    return [[*one, *other] for one, other in zip(pypi, npm, strict=True)]


def receipt_of(checkout: Checkout) -> bytes:
    return signed_receipt(with_brand(Checkout.objects.all()).get(pk=checkout.pk), now=NOON)


def flips(token: bytes) -> list[bytes]:
    """The token with one bit changed, a bit of each of its characters in turn.

    The last character of the signature has four bits that are part of no byte. The published libraries do not look at these, and
    what they decode is unchanged; the page of ours does.
    """
    changed = [
        token[:place] + bytes([token[place] ^ (1 << place % 7)]) + token[place + 1 :] for place in range(len(token))
    ]
    return [one for one in changed if _says_otherwise(one, token)]


def _says_otherwise(one: bytes, token: bytes) -> bool:
    text, _, signature = token.rpartition(b".")
    changed, _, its = one.rpartition(b".")
    try:
        return changed != text or decoded(its) != decoded(signature)
    except ValueError:
        return True


@pytest.mark.django_db
def test_four_libraries_find_in_a_receipt_what_was_signed() -> None:
    tokens = [receipt_of(make_completed()), receipt_of(make_completed(mode=Mode.TEST))]
    for token, verdicts in zip(tokens, judged(tokens), strict=True):
        assert verdicts == [claims_of(token)] * 4


@pytest.mark.django_db
def test_one_flipped_bit_anywhere_is_noticed_by_all() -> None:
    token = receipt_of(make_completed())
    changed = flips(token)
    assert len(changed) >= len(token) - 1
    accepted = {verdict is not None for verdicts in judged(changed) for verdict in verdicts}
    assert accepted == {False}


@pytest.mark.django_db
def test_receipts_of_three_keys_in_turn_are_all_found_genuine(settings: Any) -> None:
    tokens = []
    for _ in range(3):
        tokens.append(receipt_of(make_completed()))
        settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    assert judged(tokens) == [[claims_of(token)] * 4 for token in tokens]


@pytest.mark.django_db(transaction=True)
def test_a_library_of_the_machines_standard_finds_the_key_by_the_issuers_name(
    live_server: LiveServer, settings: Any
) -> None:
    settings.BASE_URL = live_server.url
    token = receipt_of(make_completed())
    assert run(["node", str(BY_NPM)], {"tokens": [token.decode()]}) == [[claims_of(token)]]
