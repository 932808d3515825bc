"""A sender's visit to the database: release, renew, take, read."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import structlog
from django.core.exceptions import ImproperlyConfigured

from accounts.models import Merchant
from gateway.core.secrets import SecretUnreadableError, unseal
from webhooks.delivery import claims
from webhooks.delivery.claims import Claimed, Room
from webhooks.endpoints.secrets import ensure_secret, sealed_secrets
from webhooks.health import PROBATION_AFTER

log = structlog.get_logger(__name__)

# How many deliveries of an endpoint a sender holds: enough that two lanes never wait for the database.
ENDPOINT_ROOM = 100


@dataclass(frozen=True, slots=True)
class Demand:
    """What a sender asks for in one visit to the database.

    `limit` is how many more endpoints it can serve, `after` is the last endpoint id it looked at, `passed_over` the
    merchants that already have their full share.
    """

    sender: str
    lease: timedelta
    rooms: Mapping[int, Room]
    held: Sequence[int]
    renewed: Collection[int]
    released: Collection[int]
    limit: int
    after: int
    passed_over: Collection[int]


@dataclass(frozen=True, slots=True)
class Work:
    """A delivery to send, with the secrets to sign it with."""

    claimed: Claimed
    secrets: Sequence[str]


@dataclass(frozen=True, slots=True)
class Batch:
    """A visit's result: endpoints now served (with their merchants), endpoints lost to others, work to do.

    `filled` are the endpoints that may have more: those that had as much work as was asked for, and those on probation, which get
    one probe at a time.
    """

    taken: Mapping[int, int]
    lost: Collection[int]
    work: Sequence[Work]
    filled: Collection[int]
    after: int


def claim_batch(demand: Demand, *, now: datetime) -> Batch:
    """Visit the database once. Each step commits separately."""
    if demand.released:
        claims.release(demand.sender, demand.released)
    lost = _lost(demand, now)
    claims.promote_due(now=now)
    taken = _take(demand, now)
    rooms = {key: room for key, room in demand.rooms.items() if key not in lost}
    rooms |= {endpoint: Room(ENDPOINT_ROOM, idle=True) for endpoint in taken}
    claimed = []
    if rooms:
        claimed = claims.due_deliveries(demand.sender, rooms, held=demand.held, now=now)
    found = Counter(delivery.endpoint for delivery in claimed)
    filled = {key for key, room in rooms.items() if found[key] >= room.count}
    filled |= {delivery.endpoint for delivery in claimed if delivery.endpoint_failures >= PROBATION_AFTER}
    after = max(taken) if len(taken) == demand.limit and taken else 0
    return Batch(taken, lost, _with_secrets(claimed, now), filled, after)


def _lost(demand: Demand, now: datetime) -> set[int]:
    if not demand.renewed:
        return set()
    kept = claims.renew(demand.sender, demand.renewed, now=now, lease=demand.lease)
    return set(demand.renewed) - kept


def _take(demand: Demand, now: datetime) -> dict[int, int]:
    taken: dict[int, int] = {}
    # If the first search began in the middle and found too few, start again from the beginning.
    for after in dict.fromkeys([demand.after, 0]):
        if len(taken) < demand.limit:
            taken |= claims.take_endpoints(
                demand.sender,
                now=now,
                lease=demand.lease,
                after=after,
                limit=demand.limit - len(taken),
                passed_over=demand.passed_over,
            )
    return taken


def _with_secrets(claimed: Iterable[Claimed], now: datetime) -> list[Work]:
    claimed = list(claimed)
    merchants = {delivery.merchant for delivery in claimed}
    secrets = _secrets(merchants, now) if merchants else {}
    return [Work(delivery, secrets[delivery.merchant]) for delivery in claimed if delivery.merchant in secrets]


def _secrets(merchants: Collection[int], now: datetime) -> dict[int, list[str]]:
    sealed = sealed_secrets(merchants, now=now)
    found = {}
    for merchant in merchants:
        try:
            if merchant in sealed:
                found[merchant] = [_unsealed(token) for token in sealed[merchant]]
            else:
                found[merchant] = [ensure_secret(Merchant.objects.get(pk=merchant), now=now)]
        except (SecretUnreadableError, ImproperlyConfigured) as error:
            # Our fault, not the endpoint's: its deliveries wait until the operator fixes the keys.
            log.error("cannot sign webhooks", merchant=merchant, error=str(error))
    return found


@lru_cache(maxsize=10_000)
def _unsealed(token: bytes) -> str:
    return unseal(token)
