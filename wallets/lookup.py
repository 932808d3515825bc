"""Looking a transaction up by its hash on every chain it may be of, as for a buyer who paid and sees nothing happen.

Nothing here is credited: what watchers record is the truth, and what they missed they are asked to read again
(`wallets.watching.missed`).
"""

import threading
import time
from dataclasses import dataclass
from typing import Final

import structlog

from accounts.states import Mode
from gateway.core.ratelimit import Limit, hit
from wallets.chains.adapters import open_adapter, open_pool
from wallets.chains.base import ChainError, FoundTransaction
from wallets.chains.registry import ChainSpec
from wallets.chains.specs import CHAINS
from wallets.hashes import UnreadableHashError, spellings
from wallets.models import Transfer
from wallets.networks import watched_chains
from wallets.watching.missed import ask_again

__all__ = [
    "Lookup",
    "UnreadableHashError",
    "ask_again",
    "look_up",
    "recorded",
    "spellings",
]

log = structlog.get_logger(__name__)

DEADLINE_SECONDS: Final = 8.0

MOST_AT_ONCE: Final = 4
"""How many questions to one chain a process waits for at once: one whose nodes hang must not take the others' places."""

# Of what a chain's nodes allow, the watchers need most. A look-up asks each of them two to five things.
_SHARE: Final = 5
_LEAST_A_MINUTE: Final = 6

_free_places: Final = {
    facts.name: threading.BoundedSemaphore(MOST_AT_ONCE) for facts in CHAINS
}


@dataclass(frozen=True, slots=True)
class Lookup:
    """What came of looking a transaction up.

    `transactions` are those that have this hash, one for each chain that knows it, sorted by the chains' priority.
    `unasked` names the chains it might be on that could not be asked: no node answered in time, or they were asked too
    often already.
    """

    transactions: tuple[FoundTransaction, ...]
    unasked: tuple[str, ...]


def look_up(text: str, *, deadline_seconds: float = DEADLINE_SECONDS) -> Lookup:
    """Ask every chain that could have the transaction a text names, all at the same time, for so many seconds in all.

    Chains without a node of ours are left out. Raises UnreadableHashError.
    """
    until = time.monotonic() + deadline_seconds
    named = spellings(text)
    asked = [
        (spec.name, _ask(spec, named[spec.name]))
        for spec in watched_chains()
        if spec.name in named
    ]
    found, unasked = [], []
    for name, question in asked:
        if question is None or not question.is_answered(until=until):
            unasked.append(name)
        elif question.found is not None:
            found.append(question.found)
    return Lookup(tuple(found), tuple(unasked))


def recorded(found: FoundTransaction) -> list[Transfer]:
    """Return the transfers that are recorded of a transaction, of real money and whosever they are."""
    hashes = {found.tx_hash} | {one.tx_hash for one in found.transfers}
    rows = Transfer.objects.filter(
        chain=found.chain, tx_hash__in=hashes, mode=Mode.LIVE
    )
    return list(rows.order_by("pk"))


def _ask(spec: ChainSpec, tx_hash: str) -> "_Question | None":
    """Begin to ask a chain; None where it was asked too often, or too many wait for its answer."""
    allowed = max(spec.requests_per_minute // _SHARE, _LEAST_A_MINUTE)
    # Counted for all buyers of the installation together: what one of them may do is for the pages to limit.
    if hit(Limit("lookup", allowed), spec.name, now=time.time()).exceeded:
        return None
    if not _free_places[spec.name].acquire(blocking=False):
        return None
    return _Question(spec, tx_hash)


class _Question(threading.Thread):
    """Asks one chain. A daemon, which may outlive the deadline by its nodes' time-outs, and touches no database."""

    def __init__(self, spec: ChainSpec, tx_hash: str) -> None:
        super().__init__(daemon=True, name=f"look up {spec.name}")
        self.found: FoundTransaction | None = None
        self._spec = spec
        self._tx_hash = tx_hash
        self._is_answered = False
        self.start()

    def is_answered(self, *, until: float) -> bool:
        """Tell whether `found` is what the chain knows; wait for it until a time of the monotonic clock."""
        self.join(max(until - time.monotonic(), 0.0))
        return self._is_answered

    def run(self) -> None:
        """Ask, on connections of its own."""
        try:
            self._find()
        except ChainError as error:
            log.warning("not looked up", chain=self._spec.name, error=str(error))
        except Exception:
            # A page that says "could not be asked" is better than one that waits for an answer that never comes.
            log.exception("look-up failed", chain=self._spec.name)
        finally:
            _free_places[self._spec.name].release()

    def _find(self) -> None:
        adapter = open_adapter(self._spec, open_pool(self._spec))
        try:
            self.found = adapter.find(self._tx_hash)
            self._is_answered = True
        finally:
            adapter.close()
