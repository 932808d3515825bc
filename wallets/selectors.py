"""The chains' statuses and merchants' offers, cached for seconds: every new checkout reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from threading import Lock
from typing import Any, Final, NamedTuple

from cachetools import TTLCache, cached
from django.conf import settings
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from accounts.states import Mode
from gateway.core.postgres.replica import from_primary
from wallets.chains.base import Hint
from wallets.chains.family import ChainSpec
from wallets.models import ChainCursor, DepositAddress, ReceivingWallet, WatchedWallet
from wallets.networks import chain_spec, chains, known_chains, poll_seconds, reads_accounts, watched_chains
from wallets.states import ChainStatus, DownReason

# With more addresses than this, the request is longer than an answer without the filter.
MOST_RECIPIENTS: Final = 1_000
_MOST_CACHED: Final = 10_000
_DELAYED_AFTER: Final = timedelta(seconds=15)
_DOWN_AFTER: Final = timedelta(seconds=60)
_BLOCKS_BEHIND: Final = 20
_HEAD_STANDS_STILL: Final = timedelta(minutes=15)


@cached(TTLCache(1, 1.0), lock=Lock())
@from_primary
def _cursors() -> dict[str, ChainCursor]:
    return {cursor.chain: cursor for cursor in ChainCursor.objects.all()}


@cached(TTLCache(_MOST_CACHED, 3.0), lock=Lock())
@from_primary
def _wallets(merchant_id: int) -> dict[str, str]:
    rows = ReceivingWallet.objects.of_checkouts().filter(merchant_id=merchant_id, retired_at=None)
    return dict(rows.values_list("chain", "address"))


def forget() -> None:
    """Clear this process's caches; other processes follow within seconds."""
    _cursors.cache_clear()
    _wallets.cache_clear()
    _offerable.cache_clear()


def receiving_wallets(merchant_id: int) -> Mapping[str, str]:
    """Return a merchant's receiving addresses by chain, at most three seconds old."""
    return _wallets(merchant_id)


def chain_statuses(*, now: datetime) -> dict[str, ChainStatus]:
    """Return each known chain's status, from its watcher's last writes; a chain without a watcher is down."""
    cursors = _cursors()
    watched = {spec.name for spec in watched_chains()}
    return {
        name: _status(spec, cursors[name], now) if name in watched and name in cursors else ChainStatus.DOWN
        for name, spec in known_chains().items()
    }


def down_reasons(*, now: datetime) -> dict[str, DownReason | None]:
    """Return why each known chain is down; None for one that is not."""
    cursors = _cursors()
    return {name: down_reason(cursors.get(name), status) for name, status in chain_statuses(now=now).items()}


def down_reason(cursor: ChainCursor | None, status: ChainStatus) -> DownReason | None:
    """Return why a chain of this status is down; None if it is not."""
    if cursor is not None and cursor.halted_reason:
        return DownReason.HALTED
    return DownReason.UNREACHABLE if status == ChainStatus.DOWN else None


def transfer_fees() -> dict[str, Decimal]:
    """Return what a buyer's wallet pays to send a token, in USD, on each known chain where that is known.

    An estimate: of the gas in the newest blocks that the watcher read, or a usual amount where blocks name no price of it; and the
    price of a coin in GAS_COIN_USD, or one that we assume.
    """
    cursors, prices = _cursors(), settings.GAS_COIN_USD
    fees = {}
    for name, spec in chains().items():
        told = cursors[name].base_fee if name in cursors else None
        usd = spec.buyer_fee.usd(told, coin_usd=prices.get(name, "")) if spec.buyer_fee else None
        if usd is not None:
            fees[name] = usd
    return fees


class ChainHealth(NamedTuple):
    """A chain's state for people. Payments up to `known_until` were seen; None if it was never read.

    `height` is the last block that was read, and `halted_at` when it was halted.
    """

    chain: str
    title: str
    status: ChainStatus
    blocks_behind: int | None
    known_until: datetime | None
    disagreeing_since: datetime | None
    reason: DownReason | None
    height: int | None
    halted_at: datetime | None


def chain_health(*, now: datetime, specs: Iterable[ChainSpec] | None = None) -> list[ChainHealth]:
    """Return the state of these chains, or of each that has a node, from its watcher's last writes."""
    statuses, cursors = chain_statuses(now=now), _cursors()
    return [
        _health(spec, cursors.get(spec.name) or ChainCursor(chain=spec.name), statuses[spec.name])
        for spec in (watched_chains() if specs is None else specs)
    ]


def _health(spec: ChainSpec, cursor: ChainCursor, status: ChainStatus) -> ChainHealth:
    is_read = cursor.head is not None and cursor.height is not None
    # A head that stands still is read again and again, and shows nothing newer than itself.
    ends = (cursor.read_through_at, None if spec.is_local else cursor.head_time)
    return ChainHealth(
        chain=spec.name,
        title=spec.title,
        status=status,
        blocks_behind=(cursor.head or 0) - (cursor.height or 0) if is_read else None,
        known_until=min((end for end in ends if end is not None), default=None),
        disagreeing_since=cursor.disagreeing_since,
        reason=down_reason(cursor, status),
        height=cursor.height,
        halted_at=cursor.halted_at,
    )


def _status(spec: ChainSpec, cursor: ChainCursor, now: datetime) -> ChainStatus:
    if cursor.halted_reason or cursor.head_at is None or cursor.head is None:
        return ChainStatus.DOWN
    silence = now - _expected_at(spec, cursor, cursor.head_at)
    standstill = _standstill(spec, cursor, now)
    if silence > _DOWN_AFTER or standstill > _HEAD_STANDS_STILL:
        return ChainStatus.DOWN
    behind = cursor.head - (cursor.height if cursor.height is not None else -1)
    slow = _BLOCKS_BEHIND * timedelta(seconds=spec.block_seconds) + _DELAYED_AFTER
    if silence > _DELAYED_AFTER or behind > _most_behind(spec) or standstill > slow:
        return ChainStatus.DELAYED
    return ChainStatus.OK


def _most_behind(spec: ChainSpec) -> int:
    """Return how many unread blocks are no delay: twenty, or fifteen seconds of blocks that come several times a second."""
    if reads_accounts(spec):
        return _BLOCKS_BEHIND
    return max(_BLOCKS_BEHIND, int(_DELAYED_AFTER.total_seconds() / spec.block_seconds))


def _expected_at(spec: ChainSpec, cursor: ChainCursor, head_at: datetime) -> datetime:
    """Return when the chain's next update is due: quiet chains are read once a minute.

    A running watcher also renews its lease between passes. So a quiet chain without renewal counts as silent.
    """
    told_at = head_at
    if reads_accounts(spec) and cursor.accounts_read_at is not None:
        told_at = min(head_at, cursor.accounts_read_at)
    usual = told_at + timedelta(seconds=poll_seconds(spec))
    if cursor.due_at is None:
        return usual
    # The next pass may be as late as the one before.
    quiet = cursor.due_at - (head_at - told_at)
    return max(usual, min(quiet, cursor.lease_until))


def _standstill(spec: ChainSpec, cursor: ChainCursor, now: datetime) -> timedelta:
    """Return the newest block's age. A local chain makes blocks only for payments."""
    if spec.is_local or cursor.head_time is None:
        return timedelta(0)
    return now - cursor.head_time


def stands_still(chain: str, head_time: datetime | None, *, now: datetime) -> bool:
    """Return whether a chain's newest block is so old that the chain is down, though a node may answer."""
    spec, cursor = known_chains().get(chain), ChainCursor(chain=chain, head_time=head_time)
    return spec is not None and _standstill(spec, cursor, now) > _HEAD_STANDS_STILL


@dataclass(frozen=True, slots=True)
class Offerable:
    """A chain a new checkout may offer.

    `destination` is where its deposit address pays; on exact-amount chains that is None, and `wallet` the address to pay. `tokens` are
    one USD each; `other_pegs` are those of other currencies that it may offer too, and what each is one of.
    """

    name: str
    tokens: list[str]
    destination: bytes | None
    wallet: str | None
    other_pegs: Mapping[str, str] = field(default_factory=dict)


def offerable_chains(merchant_id: int, mode: Mode) -> list[Offerable]:
    """Return what a new checkout of this merchant offers, sorted by priority, at most a second old.

    Live: the merchant has a receiving wallet there, the chain is watched and not down, and the factory is on it; an
    exact-amount chain waits until its payments can be distinguished. Test: every known chain.
    """
    return _offerable(merchant_id, mode)


def configured_chains(merchant_id: int, mode: Mode) -> list[Offerable]:
    """Return `offerable_chains` as they are while no chain is down: what the merchant and the installation have set up."""
    if mode == Mode.TEST:
        return offerable_chains(merchant_id, mode)
    wallets = receiving_wallets(merchant_id)
    return [_live_offer(chain_spec(name), wallets[name]) for name in _ready_chains() if name in wallets]


@cached(TTLCache(_MOST_CACHED, 1.0), lock=Lock())
def _offerable(merchant_id: int, mode: Mode) -> list[Offerable]:
    wallets = receiving_wallets(merchant_id)
    if mode == Mode.TEST:
        return [_test_offer(spec, wallets) for spec in chains().values()]
    return [_live_offer(chain_spec(name), wallets[name]) for name in _live_chains() if name in wallets]


def _live_chains() -> list[str]:
    statuses = chain_statuses(now=timezone.now())
    return [name for name in _ready_chains() if statuses[name] != ChainStatus.DOWN]


def _ready_chains() -> list[str]:
    """Return the chains that are watched and have the factory where they need it, whether they are read at the moment or not."""
    cursors, watched = _cursors(), {spec.name for spec in watched_chains()}
    return [
        name
        for name, spec in chains().items()
        if name in watched and name in cursors and (spec.exact_amount_required or cursors[name].factory_ok)
    ]


def _live_offer(spec: ChainSpec, wallet: str) -> Offerable:
    if spec.exact_amount_required:
        return _offerable_of(spec, wallet=wallet)
    return _offerable_of(spec, destination=spec.family.address_key(wallet))


def _test_offer(spec: ChainSpec, wallets: Mapping[str, str]) -> Offerable:
    """Return a test offer with the merchant's own wallet if possible, so that real money sent by mistake is not lost."""
    if spec.exact_amount_required:
        # Without a wallet, an address without an owner, so that no stranger's is shown.
        return _offerable_of(spec, wallet=wallets.get(spec.name, spec.family.nobody))
    return _offerable_of(spec, destination=_test_destination(spec, wallets))


def _test_destination(spec: ChainSpec, wallets: Mapping[str, str]) -> bytes:
    # A wallet on any chain of the family is the merchant's on all of them.
    mine = [address for name, address in wallets.items() if chain_spec(name).family is spec.family]
    address = wallets.get(spec.name) or next(iter(mine), spec.family.nobody)
    return spec.family.address_key(address)


def _offerable_of(spec: ChainSpec, *, destination: bytes | None = None, wallet: str | None = None) -> Offerable:
    return Offerable(
        name=spec.name,
        tokens=[token.symbol for token in spec.accepted_tokens],
        destination=destination,
        wallet=wallet,
        other_pegs={token.symbol: token.peg for token in spec.checkout_tokens if not token.accepted},
    )


class Owner(NamedTuple):
    """The owner of an address: a deposit address, or a merchant's own wallet on an exact-amount chain."""

    deposit_id: int | None
    wallet_id: int | None
    merchant_id: int
    purpose: str


_OWNERS = """
    SELECT d.key, d.id, NULL::bigint, d.merchant_id, d.purpose
    FROM unnest(%(keys)b::bytea[]) AS wanted(key) JOIN wallets_depositaddress d ON d.key = wanted.key
    WHERE d.mode = 'live'
"""
# For a wallet that moved between merchants, the current owner.
_WALLET_OWNERS = """
    UNION ALL
    (SELECT DISTINCT ON (w.key) w.key, NULL::bigint, w.id, w.merchant_id, w.purpose
     FROM unnest(%(keys)b::bytea[]) AS wanted(key) JOIN wallets_receivingwallet w ON w.key = wanted.key
     WHERE w.chain = %(chain)s
     ORDER BY w.key, w.retired_at DESC NULLS FIRST)
"""


def owners_of(chain: str, keys: set[bytes]) -> dict[bytes, Owner]:
    """Return our paid addresses among these on a chain, with their owners."""
    if not keys:
        return {}
    statement = _OWNERS
    if chain_spec(chain).exact_amount_required:
        statement += _WALLET_OWNERS
    with connection.cursor() as cursor:
        cursor.execute(statement, {"keys": list(keys), "chain": chain})
        return {bytes(key): Owner(*owner) for key, *owner in cursor}


class Watch(NamedTuple):
    """A watched wallet and its merchant."""

    wallet_id: int
    merchant_id: int


_WATCHES = """
    SELECT w.key, w.id, w.merchant_id
    FROM unnest(%(keys)b::bytea[]) AS wanted(key) JOIN wallets_watchedwallet w ON w.key = wanted.key
    WHERE w.chain = %(chain)s AND w.mode = 'live' AND w.removed_at IS NULL
    ORDER BY w.id
"""


def watches_of(chain: str, keys: set[bytes]) -> dict[bytes, list[Watch]]:
    """Return the watched addresses among these on a chain, by watcher: several merchants may watch the same."""
    found: dict[bytes, list[Watch]] = {}
    if not keys:
        return found
    with connection.cursor() as cursor:
        cursor.execute(_WATCHES, {"keys": list(keys), "chain": chain})
        for key, *watch in cursor:
            found.setdefault(bytes(key), []).append(Watch(*watch))
    return found


def watched_keys(chain: str) -> Hint | None:
    """Return all our addresses on a chain, as recipients and senders; None if they are too many to name.

    Old addresses may still be paid, so all are recipients. Addresses that were never paid cannot be senders.
    """
    spec = chain_spec(chain)
    live = WatchedWallet.objects.filter(chain=chain, mode=Mode.LIVE, removed_at=None)
    watched = _keys(live.values_list("key", flat=True).distinct())
    deposits: set[bytes] = set()
    if spec.family.has_forwarders:
        # In index order: otherwise all simulated ones may come first.
        rows = DepositAddress.objects.filter(mode=Mode.LIVE).order_by("-watched_until")
        deposits = _keys(rows.values_list("key", flat=True))
    recipients = watched | deposits
    if spec.exact_amount_required:
        # A replaced wallet may still be in a payer's address book.
        wallets = ReceivingWallet.objects.filter(chain=chain)
        recipients |= _keys(wallets.values_list("key", flat=True).distinct())
    if len(recipients) > MOST_RECIPIENTS:
        return None
    senders = watched | _paid_deposits(chain, deposits)
    return Hint(frozenset(recipients), frozenset(senders))


def _keys(rows: QuerySet[Any, Any]) -> set[bytes]:
    return {bytes(key) for key in rows[: MOST_RECIPIENTS + 1]}


# One index look-up for each, however many payments others had.
_PAID = """
    SELECT d.key
    FROM wallets_depositaddress d
    CROSS JOIN LATERAL (
        SELECT FROM wallets_transfer t WHERE t.deposit_id = d.id AND t.chain = %(chain)s LIMIT 1) AS paid
    WHERE d.key = ANY(%(keys)b::bytea[]) AND d.mode = 'live'
"""


def _paid_deposits(chain: str, keys: set[bytes]) -> set[bytes]:
    """Return the deposit addresses that ever received something on a chain. `keys` are few: MOST_RECIPIENTS."""
    if not keys:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_PAID, {"keys": list(keys), "chain": chain})
        return {bytes(key) for (key,) in cursor}
