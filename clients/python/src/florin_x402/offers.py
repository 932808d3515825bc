"""The standard's extension `offer-receipt`: the facilitator signs what a 402 asks, and that a payer paid.

A 402 goes out without signed offers where the facilitator gives none: they are evidence, and no condition of a payment.
"""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from florin_x402.errors import FacilitatorError, RefusedError
from florin_x402.facilitator import Facilitator

EXTENSION: Final = "offer-receipt"

# Offers hold for five minutes. A payer has the rest of them.
_FRESH_SECONDS: Final = 120.0
_AFTER_A_FAILURE: Final = 60.0
_MINUTE: Final = 60.0
# Those who ask for one path after another must not use up the facilitator's limit, nor our memory.
_MOST_A_MINUTE: Final = 120
_MOST_KEPT: Final = 1_000
_LONGEST: Final = 4_000


class Offers:
    """Signed offers by resource and price, each asked for once in two minutes. Thread-safe."""

    def __init__(self, facilitator: Facilitator, *, is_on: bool) -> None:
        self._facilitator = facilitator
        self._is_on = is_on
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Mapping[str, Any], float]] = {}
        self._not_before = 0.0
        self._minute_began = 0.0
        self._asked = 0

    def extension_for(self, url: str, accepts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the extension of a 402; empty without one."""
        if not self._is_on or not accepts:
            return {}
        name, now = json.dumps([url, accepts], sort_keys=True), time.monotonic()
        with self._lock:
            known = self._kept.get(name)
            if known and known[1] > now:
                return known[0]
            if not self._may_ask(now):
                return {}
        try:
            found = self._facilitator.offers(url, accepts)
        except RefusedError:
            # It is about this address and price alone, such as an address that is too long.
            found = {}
        except FacilitatorError:
            with self._lock:
                self._not_before = time.monotonic() + _AFTER_A_FAILURE
            return {}
        with self._lock:
            self._keep(name, found)
        return found

    def _may_ask(self, now: float) -> bool:
        if now < self._not_before:
            return False
        if now - self._minute_began > _MINUTE:
            self._minute_began, self._asked = now, 0
        self._asked += 1
        return self._asked <= _MOST_A_MINUTE

    def _keep(self, name: str, found: Mapping[str, Any]) -> None:
        # Behind the others, so that the first is the oldest.
        self._kept.pop(name, None)
        if len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[name] = (found, time.monotonic() + _FRESH_SECONDS)


def receipt_in(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the payer is told of a settlement's receipt; empty without one, or with one that is too long for a header."""
    found = answer.get("extensions")
    told = found.get(EXTENSION) if isinstance(found, dict) else None
    if not isinstance(told, dict) or len(json.dumps(told)) > _LONGEST:
        return {}
    return {"extensions": {EXTENSION: told}}
