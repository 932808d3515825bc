"""The standard's extension `payment-identifier`: a request that is repeated under its payer's id gets the answer that was kept.

Nothing is asked of the facilitator then, and the handler does not run. The id comes from the payer. So it never becomes an
Idempotency-Key: with that, one payment would get two successes, and both would be served.
Source: the extension's specification, https://github.com/x402-foundation/x402/tree/main/specs/extensions; npm @x402/extensions 2.27.
"""

import hashlib
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from florin_x402.answers import PRIVATE, Answer, Headers, Problem, merged, refusal
from florin_x402.kept import AnswerStore, Mode
from florin_x402.prices import Asked
from florin_x402.proofs import Proof, SignedProof, digest_of

logger = logging.getLogger("florin_x402")

EXTENSION: Final = "payment-identifier"
LONGEST_ANSWER: Final = 1_000_000
"""Bytes of a body. A longer answer is not kept."""

_HOUR: Final = 3_600
_ID: Final = re.compile(r"[a-zA-Z0-9_-]{16,128}", re.ASCII)
_SCHEMA: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "required": {"type": "boolean"},
        "id": {"type": "string", "minLength": 16, "maxLength": 128, "pattern": "^[a-zA-Z0-9_-]+$"},
    },
    "required": ["required"],
}
# What describes the body, and the receipt. Others are of one response, as cookies and ids of requests are.
_KEPT: Final = frozenset({"link", "location", "payment-response"})

_NEEDED = Problem("payment_identifier_required", "Send a payment identifier: an id of your own for this payment.")
_MALFORMED = Problem(
    "invalid_payment_identifier", "A payment identifier has 16 to 128 letters, digits, hyphens or underscores."
)
_CONFLICT = Problem("payment_identifier_conflict", "This payment identifier was used for another payment or request.")


@dataclass(frozen=True, slots=True)
class Named:
    """A request under its payer's id: a name of that, and a digest of the payment and the request.

    `is_first` says that the id became this payment's by this request.
    """

    name: str
    digest: str
    is_first: bool = False


class Identifiers:
    """Reads payers' ids. Each is one payment's for an hour, and so long its answer is kept. An error of the store is raised only before the payment."""

    def __init__(self, store: AnswerStore, mode: Mode) -> None:
        self._store = store
        self._mode = mode

    def declaration(self) -> Mapping[str, Any]:
        """Return what a 402 says of it among its `extensions`."""
        if self._mode == "off":
            return {}
        return {EXTENSION: {"info": {"required": self._mode == "required"}, "schema": _SCHEMA}}

    def named(self, proof: Proof, asked: Asked) -> Named | Answer | None:
        """Return a request's id, which is its payment's from now on; None if it has none.

        Return the Answer to send where one was kept, and where the request must have an id, or another one.
        """
        if self._mode == "off" or not isinstance(proof, SignedProof) or proof.version == 1:
            return None
        told = _info(proof.payload).get("id")
        if told is None:
            return refusal(400, _NEEDED) if self._mode == "required" else None
        if not isinstance(told, str) or not _ID.fullmatch(told):
            return refusal(400, _MALFORMED)
        name = hashlib.sha256(told.encode()).hexdigest()
        found = Named(name, digest_of(proof, f"{asked.method} {asked.paths[0]}?{asked.query}"))
        return self.answer_to(found) or self._reserved(found)

    def answer_to(self, named: Named) -> Answer | None:
        """Return the answer that was kept for this payment and request, or that its id is another one's. None if it is new."""
        value = self._store.get(f"answer:{named.name}")
        if value is None:
            return None
        head, _, body = value.partition(b"\n")
        digest, status, headers = json.loads(head)
        if digest != named.digest:
            return refusal(409, _CONFLICT)
        own: Headers = [(str(name), str(told)) for name, told in headers]
        length = [] if status == 204 else [("Content-Length", str(len(body)))]
        return Answer(int(status), [*merged(own, [*PRIVATE]), *length], body)

    def free(self, named: Named | None) -> None:
        """Leave an id to another payment, because nothing was paid under it. Copies of the first request leave it alone."""
        if named is None or not named.is_first:
            return
        try:
            self._store.remove(f"id:{named.name}")
        except Exception:
            logger.exception("x402: a payment identifier was not freed")

    def keeper(self, named: Named, *, status: int, headers: Headers) -> "Keeper":
        """Return what collects the answer while it is sent."""
        return Keeper(self._store, named, status, headers)

    def _reserved(self, named: Named) -> Named | Answer:
        # A payer that gave up waiting may sign anew under its id while its first request runs. Both would be charged.
        digest = named.digest.encode()
        if self._store.add(f"id:{named.name}", digest, seconds=_HOUR):
            return replace(named, is_first=True)
        return named if self._store.get(f"id:{named.name}") == digest else refusal(409, _CONFLICT)


class Keeper:
    """Collects an answer's body, and keeps the answer as soon as it is whole: before its last part is sent, if that is known."""

    def __init__(self, store: AnswerStore, named: Named, status: int, headers: Headers) -> None:
        self._store = store
        self._named = named
        kept = [(name, value) for name, value in headers if _is_kept(name)]
        self._head = json.dumps([named.digest, status, kept]).encode()
        told = next((value for name, value in headers if name.lower() == "content-length"), "")
        self._declared = int(told) if told.isascii() and told.isdigit() and len(told) < 10 else None
        self._body = bytearray()
        self._is_done = False

    def add(self, part: bytes) -> None:
        """Collect a part of the body."""
        if self._is_done:
            return
        if len(self._body) + len(part) > LONGEST_ANSWER:
            self.drop()
            return
        self._body += part
        if part and len(self._body) == self._declared:
            self.end()

    def end(self) -> None:
        """Keep the answer: no part follows. One that is not as long as it declares is not kept."""
        if not self._is_done and self._declared in {None, len(self._body)}:
            answer = b"\n".join((self._head, bytes(self._body)))
            try:
                self._store.add(f"answer:{self._named.name}", answer, seconds=_HOUR)
            except Exception:
                # It was paid for, and goes out all the same.
                logger.exception("x402: an answer was not kept")
        self._is_done = True

    def drop(self) -> None:
        """Keep nothing: the body takes another way, or is too long."""
        self._is_done = True
        self._body.clear()


def _info(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the payer's payload says of the extension. Untrusted."""
    found: Any = payload
    for name in ("extensions", EXTENSION, "info"):
        found = found.get(name)
        if not isinstance(found, dict):
            return {}
    return dict(found)


def _is_kept(name: str) -> bool:
    low = name.lower()
    return low in _KEPT or (low.startswith("content-") and low != "content-length")
