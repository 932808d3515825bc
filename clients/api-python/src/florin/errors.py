"""What calls and verifications raise. Wrong arguments of your own program are ValueErrors, raised before anything is sent."""

import json
from collections.abc import Mapping
from typing import Any


class FlorinError(Exception):
    """Base of all errors of this package.

    `idempotency_key` is what the failed request was sent with, None without one: where its outcome is unknown, give the same
    to make the same call again.
    """

    idempotency_key: str | None = None


class NoAnswerError(FlorinError):
    """No complete, readable answer came, so it is unknown whether the server acted."""


class ApiError(FlorinError):
    """The API refused. Branch on `code`; `param` names the field, `request_id` is for questions to the operator.

    `required_scope` is what the key lacks, `refundable` what a refund could be, `retry_after` the seconds to wait. All of them
    are None where they do not apply, and `code` too where the answer came from something before Florin, such as a proxy.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        told = _told(body)
        self.status = status
        self.type = _text(told, "type")
        self.code = _text(told, "code")
        self.param = _text(told, "param")
        self.required_scope = _text(told, "required_scope")
        self.refundable = _text(told, "refundable")
        self.request_id = headers.get("x-request-id")
        wait = headers.get("retry-after", "")
        self.retry_after = int(wait) if wait.isascii() and wait.isdecimal() else None
        message = _text(told, "message") or "The answer has no reason."
        super().__init__(f"{message} ({status}{f' {self.code}' if self.code else ''})")


class SignatureError(FlorinError):
    """A webhook is not signed by any of the secrets, or too long ago. Answer 400."""


class OtherModeError(FlorinError):
    """A webhook or a receipt is genuine, and of the other mode: test or live. Answer the webhook 2xx, and do nothing else."""


class ReceiptError(FlorinError):
    """A receipt proves nothing. `outcome` is `unreadable`, `unknown` (no such key), `forged` or `withdrawn` (its key leaked)."""

    def __init__(self, message: str, outcome: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def _told(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = found.get("error") if isinstance(found, dict) else None
    return error if isinstance(error, dict) else {}


def _text(told: Mapping[str, Any], name: str) -> str | None:
    value = told.get(name)
    return value if isinstance(value, str) else None
