"""Whether the standard's contract for scheme `upto` is deployed on a chain."""

from contextlib import suppress
from threading import Lock
from typing import Final

from cachetools import TTLCache

from wallets.chains.base import ChainError
from wallets.chains.evm.authorizations import contracts
from wallets.chains.family import ChainSpec
from wallets.chains.rpc.pool import RpcPool
from x402.exact.evm.permit2 import UPTO_PROXY
from x402.exact.waiting import asking

Place = tuple[str, ...]

# A chain without the contract, or without a node that answers, is not asked again for so many seconds.
_MISSING_SECONDS: Final = 60.0
# How long all nodes of a chain may take together: whoever starts a server waits for the answer about every chain.
_MOST_SECONDS: Final = 1.5
_missing: Final[TTLCache[Place, bool]] = TTLCache(1_000, _MISSING_SECONDS)
_turns: Final[dict[Place, Lock]] = {}
_lock: Final = Lock()


def has_upto(pool: RpcPool, spec: ChainSpec) -> bool:
    """Return whether the contract is on a chain; False if no node answers soon. One request of a process asks at a time."""
    place = tuple(spec.rpc_urls)
    with _lock:
        if place in _missing:
            return False
        turn = _turns.setdefault(place, Lock())
    if not turn.acquire(timeout=_MOST_SECONDS):
        return False
    try:
        with _lock:
            if place in _missing:
                return False
        if _is_there(pool, spec):
            return True
        with _lock:
            _missing[place] = True
        return False
    finally:
        turn.release()


def _is_there(pool: RpcPool, spec: ChainSpec) -> bool:
    with asking(spec.name) as is_asked, pool.within(_MOST_SECONDS), suppress(ChainError):
        return is_asked and contracts.has_code(pool, spec, UPTO_PROXY)
    return False
