"""Claim pages' codes: whoever has one may say where a payout goes. Only a digest is stored, so a stolen database has no link."""

import hashlib
from datetime import datetime
from typing import Final

from django.conf import settings

from gateway.core.ids import ALPHABET
from gateway.core.secrets import derivations, derive
from payouts.models import Payout
from payouts.states import PayoutStatus

_BYTES: Final = 12
"""96 of the derived bits, which nobody can guess."""
_BITS: Final = 5
LENGTH: Final = -(-_BYTES * 8 // _BITS)
"""Characters of a code: 20."""


def new_claim(public_id: str) -> tuple[str, bytes]:
    """Return a payout's code and its digest. Without an encryption key, the code is random and cannot be shown again."""
    code = _code(derive(_name(public_id)))
    return code, digest_of(code)


def claim_code(payout: Payout) -> str | None:
    """Return the code again; None if it has none, or no configured key derives it."""
    if payout.claim_digest is None:
        return None
    codes = map(_code, derivations(_name(payout.public_id)))
    return next((code for code in codes if digest_of(code) == bytes(payout.claim_digest)), None)


def claim_url(code: str) -> str:
    """Return the address of the claim page."""
    return f"{settings.CHECKOUT_HOST}/r/{code}"


def claimed_payout(code: str) -> Payout | None:
    """Return the payout whose claim page has this code, in any status; None for a code that no payout has."""
    if len(code) != LENGTH or not code.isascii():
        return None
    return Payout.objects.select_related("merchant").filter(claim_digest=digest_of(code.lower())).first()


def takes_address(payout: Payout, *, now: datetime) -> bool:
    """Return whether a payout's recipient may still give an address, or change it."""
    if payout.status == PayoutStatus.REQUESTED:
        return True
    in_time = payout.claim_until is None or now < payout.claim_until
    return payout.status == PayoutStatus.OPEN and in_time


def digest_of(code: str) -> bytes:
    """Return the SHA-256 of a code."""
    return hashlib.sha256(code.encode()).digest()


def _name(public_id: str) -> str:
    # Without the revision: a changed address must not end the recipient's link.
    return f"claim:{public_id}"


def _code(secret: bytes) -> str:
    number = int.from_bytes(secret[:_BYTES])
    digits = [ALPHABET[number >> shift & (2**_BITS - 1)] for shift in range(0, LENGTH * _BITS, _BITS)]
    return bytes(reversed(digits)).decode()
