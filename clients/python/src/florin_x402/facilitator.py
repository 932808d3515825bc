"""Client of the facilitator's API. An unclear answer counts as no answer."""

import base64
import json
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from florin_x402.config import Config
from florin_x402.errors import FacilitatorError, RefusedError
from florin_x402.transport import Reply, Transport, TransportError

logger = logging.getLogger("florin_x402")

_HEX: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})", re.ASCII)
# Only TON writes hashes so.
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{43}=?", re.ASCII)
_URL_SAFE: Final = str.maketrans("+/", "-_")
_TRIES: Final = 2
_LONGEST_MESSAGE: Final = 300
_LONGEST_WAIT: Final = 3_600


class Facilitator:
    """One merchant's facilitator. All calls raise FacilitatorError if it gives no reliable answer."""

    def __init__(self, config: Config) -> None:
        parts = urlsplit(config.url.rstrip("/"))
        self._path = parts.path
        # Where the gateway's other paths begin.
        self._api_path = parts.path.rpartition("/")[0]
        self._key = config.key
        self._transport = Transport(f"{parts.scheme}://{parts.netloc}", seconds=config.seconds)

    def close(self) -> None:
        """Close the connections that are kept."""
        self._transport.close()

    def config(self) -> Mapping[str, Any]:
        """Return `GET /x402/config`: where the merchant is paid."""
        return self._sound(f"{self._path}/config")

    def kinds(self) -> Sequence[Mapping[str, Any]]:
        """Return the supported kinds of the public standard; empty if there are none."""
        path = f"{self._path}/supported"
        reply = self._exchange("GET", path)
        if reply.status == 404:
            return []
        found = _body(self._ok(reply, path)).get("kinds")
        if not isinstance(found, list) or not all(isinstance(k, dict) for k in found):
            raise FacilitatorError("The facilitator's answer has another form.")
        return found

    def chains(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the records of the chains, by name."""
        found = self._sound(f"{self._api_path}/chains").get("data")
        if not isinstance(found, list) or not all(isinstance(c, dict) for c in found):
            raise FacilitatorError("The facilitator's answer has another form.")
        return {str(one.get("chain")): one for one in found}

    def verify_hash(
        self, payment: Mapping[str, str], requirements: Mapping[str, str], *, key: str
    ) -> Mapping[str, Any]:
        """Use up a payment by its transaction's hash. The same `key` gets the same answer. Raises RefusedError."""
        path = f"{self._path}/verify"
        body = {"payment": payment, "requirements": requirements}
        reply = self._exchange("POST", path, body, key=key)
        if reply.status in {400, 413}:
            raise RefusedError("invalid_payload", _message(reply))
        answer = _body(self._ok(reply, path))
        # It is in its chain's own spelling, which need not be the payer's.
        told = _digits(_short(answer.get("txHash")))
        if answer.get("valid") is True and told == _digits(payment["txHash"]):
            return answer
        if answer.get("valid") is not False:
            raise FacilitatorError("The facilitator's answer has another form.")
        wait = answer.get("retryAfter")
        raise RefusedError(
            _short(answer.get("reason")) or "invalid",
            _short(answer.get("message")),
            retry_after=wait if type(wait) is int and wait >= 0 else None,
        )

    def offers(self, url: str, accepts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return a resource's requirements signed, as an extension of the 402; empty where nothing can be signed.

        Raises RefusedError.
        """
        answer = self._standard(f"{self._path}/offers", {"resource": url, "accepts": accepts}, key="")
        found = answer.get("extension")
        if not isinstance(found, dict):
            raise FacilitatorError("The facilitator's answer has another form.")
        return found

    def verify_signed(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Verify that an authorisation would settle. Raises RefusedError."""
        answer = self._standard(f"{self._path}/verify", body, key="")
        if answer.get("isValid") is True:
            return answer
        if answer.get("isValid") is not False:
            raise FacilitatorError("The facilitator's answer has another form.")
        reason = _short(answer.get("invalidReason")) or "invalid_payload"
        raise RefusedError(reason, _short(answer.get("invalidMessage")))

    def settle(self, body: Mapping[str, Any], *, key: str) -> Mapping[str, Any]:
        """Settle an authorisation; the answer may say that it failed."""
        answer = self._standard(f"{self._path}/settle", body, key=key)
        succeeded, transaction = answer.get("success"), answer.get("transaction")
        if succeeded is False or (succeeded is True and isinstance(transaction, str) and transaction):
            return answer
        raise FacilitatorError("The facilitator's answer has another form.")

    def _standard(self, path: str, body: Mapping[str, Any], *, key: str) -> Mapping[str, Any]:
        reply = self._exchange("POST", path, body, key=key)
        if reply.status in {400, 413}:
            raise RefusedError("invalid_payload", _message(reply))
        return _body(self._ok(reply, path))

    def _sound(self, path: str) -> Mapping[str, Any]:
        return _body(self._ok(self._exchange("GET", path), path))

    def _exchange(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, key: str = "") -> Reply:
        """Send a request, and retry once without an answer; an Idempotency-Key makes that safe where needed."""
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        for tried in range(1, _TRIES + 1):
            try:
                return self._transport.exchange(method, path, headers=headers, body=content)
            except TransportError as error:
                logger.warning("x402: no answer from %s: %s", path, error)
                if tried == _TRIES:
                    raise FacilitatorError("The facilitator does not answer.") from None
        raise AssertionError

    def _ok(self, reply: Reply, path: str) -> Reply:
        if reply.status == 200:
            return reply
        logger.warning("x402: the facilitator answered %d to %s", reply.status, path)
        wait = reply.headers.get("retry-after", "")
        is_number = wait.isascii() and wait.isdigit() and len(wait) < 6
        raise FacilitatorError(
            "The facilitator cannot say.", retry_after=min(int(wait), _LONGEST_WAIT) if is_number else 5
        )


def _body(reply: Reply) -> Mapping[str, Any]:
    try:
        value = json.loads(reply.body)
    except (ValueError, RecursionError):
        raise FacilitatorError("The facilitator's answer is not JSON.") from None
    if not isinstance(value, dict):
        raise FacilitatorError("The facilitator's answer has another form.")
    return value


def _message(reply: Reply) -> str:
    """The API's error message about a request."""
    try:
        error = _body(reply).get("error")
    except FacilitatorError:
        error = None
    return _short(error.get("message")) if isinstance(error, dict) else ""


def _digits(tx_hash: str) -> str:
    """Return a hash in any spelling as hexadecimal digits; base58 stays unchanged."""
    if found := _HEX.fullmatch(tx_hash):
        return found[1].lower()
    if _BASE64.fullmatch(tx_hash):
        return base64.urlsafe_b64decode(f"{tx_hash[:43]}=".translate(_URL_SAFE)).hex()
    return tx_hash


def _short(value: object) -> str:
    return value[:_LONGEST_MESSAGE] if isinstance(value, str) else ""
