"""What addresses hold now: asked of their chains' nodes for a page, in parallel, and kept for a minute. No watcher needs to read them."""

import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Final

import structlog
from cachetools import TTLCache

from gateway.core.api.rate_limits import Limit, hit
from wallets.chains.base import ChainError
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

SECONDS: Final = 5.0
"""How long a chain is waited for."""
# Watchers need most of what a chain's nodes allow.
_SHARE: Final = 10
_LEAST_A_MINUTE: Final = 6
_MOST_KEPT: Final = 10_000
_KEPT_SECONDS: Final = 60.0

_Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class AddressBalances:
    """What an address holds: base units by token symbol, as `Holdings`, and when a node told it."""

    units: Mapping[str, int]
    read_at: datetime


_kept: TTLCache[_Place, AddressBalances] = TTLCache(_MOST_KEPT, _KEPT_SECONDS)
_lock: Final = Lock()


def forget() -> None:
    """Forget what is kept."""
    with _lock:
        _kept.clear()


def held_now(addresses: Mapping[str, Collection[str]], *, now: datetime) -> dict[_Place, AddressBalances]:
    """Return what canonical addresses hold, at most a minute old, by chain and address.

    A chain is left out if it has no node, if none answers within SECONDS, or if its share of requests is used up.
    """
    with _lock:
        known = {place: held for place in _places(addresses) if (held := _kept.get(place)) is not None}
    asked = {
        chain: wanted
        for chain, some in addresses.items()
        if (wanted := [one for one in some if (chain, one) not in known]) and _may_ask(chain_spec(chain))
    }
    if not asked:
        return known
    with ThreadPoolExecutor(len(asked), thread_name_prefix="held-now") as threads:
        answers = threads.map(_ask, map(chain_spec, asked), asked.values())
    told = {
        (chain, address): AddressBalances(units, now)
        for chain, answer in zip(asked, answers, strict=True)
        for address, units in answer.items()
    }
    with _lock:
        _kept.update(told)
    return known | told


def _places(addresses: Mapping[str, Collection[str]]) -> list[_Place]:
    return [(chain, address) for chain, some in addresses.items() for address in some]


def _may_ask(spec: ChainSpec) -> bool:
    if not spec.rpc_urls:
        return False
    allowed = max(spec.requests_per_minute // _SHARE, _LEAST_A_MINUTE)
    return not hit(Limit("wallets.held", allowed), spec.name, now=time.time()).exceeded


def _ask(spec: ChainSpec, addresses: Collection[str]) -> Mapping[str, Mapping[str, int]]:
    pool = open_pool(spec)
    pool.stop_at(time.monotonic() + SECONDS)
    keys = {spec.family.address_key(address): address for address in addresses}
    try:
        held = spec.family.open_holdings(spec, pool).read(keys)
    except ChainError as error:
        log.warning("balances not read", chain=spec.name, error=type(error).__name__)
        return {}
    finally:
        pool.close()
    return {address: held.units[key] for key, address in keys.items()}
