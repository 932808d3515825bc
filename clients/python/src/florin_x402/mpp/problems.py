"""Problem documents (RFC 9457) of MPP, and the answers to credentials that must not make their payers pay again.

Published clients pay anew, up to three times, when a 402 brings a fresh challenge. So a 402 goes out only where the payment
shown did not move, or is of no use here. Source: npm mppx 0.11, PyPI pympp 0.16.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from florin_x402.answers import Answer, Problem, refusal
from florin_x402.errors import RefusedError

MALFORMED: Final = "malformed_credential"
UNSUPPORTED: Final = "method_unsupported"
NO_PAYER: Final = "hash_without_source"
MALFORMED_HASH: Final = "malformed_hash"
ANOTHERS_LOGIN: Final = "challenge_of_another_login"
WRONG_PAYER: Final = "wrong_payer"
STRANGE: Final = "invalid_challenge"

_BASE: Final = "https://paymentauth.org/problems/"
_VERIFICATION: Final = "verification-failed"
_KINDS: Final = MappingProxyType(
    {
        "payment_required": "payment-required",
        "payment_expired": "payment-expired",
        "invalid_exact_evm_payload_authorization_valid_before": "payment-expired",
        STRANGE: "invalid-challenge",
        MALFORMED: "malformed-credential",
        ANOTHERS_LOGIN: "invalid-challenge",
        NO_PAYER: "malformed-credential",
        MALFORMED_HASH: "malformed-credential",
        UNSUPPORTED: "method-unsupported",
    }
)
# Their payers have paid, or may have.
_USED: Final = "already_used"
# The facilitator could not look, or carried nothing out.
_UNSURE: Final = frozenset({"unexpected_verify_error", "unexpected_settle_error"})
_WAIT_SECONDS: Final = 5
# The same payment counts once its request says what it has to say.
_MENDED: Final = frozenset({UNSUPPORTED, NO_PAYER, MALFORMED_HASH, ANOTHERS_LOGIN, WRONG_PAYER})
_PLAIN: Final = MappingProxyType({503: "Service Unavailable"})


def described(problem: Problem, status: int) -> Problem:
    """Return a problem with the members of its document."""
    kind = _KINDS.get(problem.reason, _VERIFICATION)
    named = {"type": _BASE + kind, "title": kind.replace("-", " ").title()}
    told = {"type": "about:blank", "title": _PLAIN[status]} if status in _PLAIN else named
    members: Mapping[str, Any] = {**told, "status": status, "detail": problem.message}
    return Problem(problem.reason, problem.message, problem.retry_after, members)


def final_answer(error: RefusedError) -> Answer | None:
    """Return the answer to a refused credential without a fresh challenge; None where its payer may pay anew."""
    status = _status_of(error)
    if status is None:
        return None
    wait = _WAIT_SECONDS if status == 503 and error.retry_after is None else error.retry_after
    return refusal(status, described(Problem(error.reason, str(error), wait), status))


def _status_of(error: RefusedError) -> int | None:
    if error.retry_after is not None or error.reason in _UNSURE:
        # Such as a transaction that is not deep enough yet: the same credential pays later.
        return 503
    if error.reason.endswith(_USED):
        return 403
    return 400 if error.reason in _MENDED else None
