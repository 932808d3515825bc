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

# A chain without the contract, or without a node that answers, is not asked again for so many seconds.
_MISSING_SECONDS: Final = 60.0
_missing: Final[TTLCache[tuple[str, ...], bool]] = TTLCache(1_000, _MISSING_SECONDS)
_lock: Final = Lock()


def has_upto(pool: RpcPool, spec: ChainSpec) -> bool:
    """Return whether the contract is on a chain; False if no node answers."""
    place = tuple(spec.rpc_urls)
    with _lock:
        if place in _missing:
            return False
    with suppress(ChainError):
        if contracts.has_code(pool, spec, UPTO_PROXY):
            return True
    with _lock:
        _missing[place] = True
    return False
