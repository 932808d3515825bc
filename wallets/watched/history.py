"""Reads the history of watched wallets, by account or by blocks, and keeps its progress in the wallets' rows."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet

from accounts.states import Mode
from wallets.chains.base import (
    Account,
    AccountAdapter,
    AccountReading,
    AccountTimes,
    BlockAdapter,
    ChainError,
    ChainUnavailableError,
    Head,
    Hint,
    RangeTooLargeError,
    Reading,
)
from wallets.chains.family import ChainSpec
from wallets.models import AccountCursor, ChainCursor, WatchedWallet
from wallets.networks import reads_accounts
from wallets.states import WatchStatus
from wallets.transfers.movements import NewMovement, confirm_movements, record_movements
from wallets.watchers.account_ingest import account_facts
from wallets.watchers.blocks import LARGEST_WINDOW, WindowSize, window_end
from wallets.watchers.leases import LeaseLostError, is_held
from wallets.watchers.owners import Owners

UNAVAILABLE: Final = "The network's nodes do not answer. It is tried again."
TOO_MUCH: Final = "The network's nodes give less at once than was asked for. It is tried again."
UNSOUND: Final = "The network's nodes answered wrongly. It is tried again."

_OPENED_AT_ONCE = 1_000

_Seen = tuple[int, datetime]

StartFinder = Callable[[int, datetime], int]
"""Given the block from which a wallet is watched, and the time: the first block of its history. Raises ChainError."""

MOST_TOGETHER: Final = 500
"""How many wallets every node accepts as alternatives, with Tron's two spellings of each."""

_REMEMBERED_HEIGHTS = 10_000
# Pages of a thousand, listed again in each turn. Exchanges' wallets have more entries than can be read; watching one must
# neither keep a million entries in memory, nor delay large payments.
_MOST_REQUESTS = 100


def importing(chain: str) -> QuerySet[WatchedWallet]:
    """Return a chain's watched wallets with an incomplete history."""
    return WatchedWallet.objects.filter(chain=chain, mode=Mode.LIVE, removed_at=None, status=WatchStatus.IMPORTING)


def next_group(chain: str, *, most: int, span: int | None) -> list[WatchedWallet]:
    """Return the wallet that waits longest, and others with similar progress to be read together.

    The others may be at most `span` blocks further; None for any number.
    """
    opened = importing(chain).exclude(history_until=None)
    leader = opened.order_by(F("history_read_at").asc(nulls_first=True), "pk").first()
    if leader is None:
        return []
    others = opened.filter(history_height__gte=leader.history_height)
    if span is not None:
        others = others.filter(history_height__lt=(leader.history_height or 0) + span)
    found = others.exclude(pk=leader.pk).order_by("history_height", "pk")
    return [leader, *found[: most - 1]]


_WRITE_PROGRESS: Final = """
    UPDATE wallets_watchedwallet w
    SET history_height = GREATEST(w.history_height, n.height), history_read_at = %(now)s::timestamptz, history_error = '',
        status = CASE WHEN GREATEST(w.history_height, n.height) >= w.history_until THEN 'active' ELSE w.status END
    FROM unnest(%(ids)s::bigint[], %(heights)s::bigint[]) AS n(id, height)
    WHERE w.id = n.id AND w.history_until IS NOT NULL
"""


def write_turn(wallets: Sequence[WatchedWallet], heights: Sequence[int], *, now: datetime) -> None:
    """Write each wallet's progress in the caller's transaction, never back; complete ones become active."""
    parameters: dict[str, Any] = {"ids": [wallet.pk for wallet in wallets], "heights": list(heights), "now": now}
    with connection.cursor() as cursor:
        cursor.execute(_WRITE_PROGRESS, parameters)


def note_failure(chain: str, wallets: Sequence[WatchedWallet], error: ChainError, *, owner: str, now: datetime) -> None:
    """Record why reading failed, and give other wallets their turn. Raises LeaseLostError.

    The error's own text is not used: it names the operator's nodes.
    """
    with transaction.atomic():
        if not is_held(chain, owner):
            raise LeaseLostError(chain)
        rows = WatchedWallet.objects.filter(pk__in=[wallet.pk for wallet in wallets])
        rows.update(history_error=_failure_words(error), history_read_at=now)


def check_lease(chain: str, owner: str, *, genesis: str) -> None:
    """Lock the cursor and check that we hold the lease of the same chain. Raises LeaseLostError."""
    rows = ChainCursor.objects.filter(chain=chain, genesis_hash=genesis)
    if not is_held(chain, owner) or not rows.exists():
        raise LeaseLostError(chain)


def _failure_words(error: ChainError) -> str:
    if isinstance(error, RangeTooLargeError):
        return TOO_MUCH
    return UNAVAILABLE if isinstance(error, ChainUnavailableError) else UNSOUND


class Openings:
    """Opens the histories of one chain: sets where they begin and end. What it saw is in memory; a restart only delays it."""

    def __init__(self, spec: ChainSpec, first_block: StartFinder) -> None:
        self._spec = spec
        self._first_block = first_block
        # By wallet: when it was seen for the second time, None until then. One that was removed and added again starts anew.
        self._seen: dict[_Seen, datetime | None] = {}

    def tick(self, *, now: datetime) -> int:
        """Open the histories whose end is known; return how many. Raises ChainError."""
        self._forget_replaced()
        waiting = list(importing(self._spec.name).filter(history_until=None).order_by("pk")[:_OPENED_AT_ONCE])
        read_at = self._read_at({bytes(wallet.key) for wallet in waiting})
        ready: dict[int, list[int]] = {}
        for wallet in waiting:
            since, known = self._since(wallet, now), read_at.get(bytes(wallet.key))
            if since is not None and known is not None and known[0] > since:
                ready.setdefault(known[1], []).append(wallet.pk)
        present = {_seen(wallet) for wallet in waiting}
        self._seen = {name: at for name, at in self._seen.items() if name in present}
        for height, wallets in ready.items():
            self._open(wallets, height, now)
        return sum(map(len, ready.values()))

    def _since(self, wallet: WatchedWallet, now: datetime) -> datetime | None:
        """Return a time when the wallet was already visible: the start of the check after the first one."""
        name = _seen(wallet)
        if name not in self._seen:
            self._seen[name] = None
        elif self._seen[name] is None:
            self._seen[name] = now
        return self._seen[name]

    def _read_at(self, keys: Collection[bytes]) -> dict[bytes, tuple[datetime, int]]:
        """Return when the last finished pass over these accounts began, and the block it reached."""
        if not keys:
            return {}
        if reads_accounts(self._spec):
            rows = AccountCursor.objects.filter(chain=self._spec.name, key__in=keys)
            return {
                bytes(key): (read_at, height)
                for key, read_at, height in rows.values_list("key", "read_at", "height")
                if read_at is not None and height is not None
            }
        cursor = ChainCursor.objects.filter(chain=self._spec.name).first()
        if cursor is None or cursor.height is None or cursor.head_at is None:
            return {}
        return dict.fromkeys(keys, (cursor.head_at, cursor.height))

    def _open(self, wallets: Sequence[int], until: int, now: datetime) -> None:
        first = min(self._first_block(until, now), until + 1)
        WatchedWallet.objects.filter(pk__in=wallets, history_until=None).update(
            history_from=first, history_height=first - 1, history_until=until
        )

    def _forget_replaced(self) -> None:
        """Forget wallets of a local chain that was reset: the blocks of their histories are gone."""
        if not self._spec.is_local:
            return
        cursor = ChainCursor.objects.filter(chain=self._spec.name).first()
        if cursor is None or cursor.height is None:
            return
        beyond = importing(self._spec.name).filter(history_until__gt=cursor.height)
        beyond.update(history_from=None, history_height=None, history_until=None)


def _seen(wallet: WatchedWallet) -> _Seen:
    return wallet.pk, wallet.created_at


class BlockHistory:
    """Reads histories of one chain from the oldest block on, several wallets in one request."""

    def __init__(self, spec: ChainSpec, adapter: BlockAdapter, *, owner: str) -> None:
        self._spec = spec
        self._adapter = adapter
        self._owner = owner
        self._sizes, self._window = WindowSize(), LARGEST_WINDOW

    def first_block(self, until: int, _now: datetime) -> int:
        """Return the first block of the history of a wallet watched from the block `until` on, by the chain's block time."""
        span = timedelta(days=settings.WALLET_HISTORY_DAYS)
        return max(until - span // timedelta(seconds=self._spec.block_seconds), 0)

    def next_group(self) -> list[WatchedWallet]:
        """Return the wallets whose turn it is; one window contains their next blocks."""
        return next_group(self._spec.name, most=MOST_TOGETHER, span=self._window)

    def read(self, wallets: Sequence[WatchedWallet], *, genesis: str, now: datetime) -> bool:
        """Read the next window of some wallets and write it; return whether there was one.

        Only final blocks are read: the watcher reads those that a reorg may replace. Local chains may stand still for ever,
        and are read to the end. Raises ChainError, LeaseLostError.
        """
        head = self._adapter.head()
        cursor = ChainCursor.objects.get(chain=self._spec.name)
        known = min(cursor.height or 0, head.block.height)
        final = self._adapter.final_height(head, read_height=known)
        first = (wallets[0].history_height or 0) + 1
        last = self._last(wallets, head, known if self._spec.is_local else final)
        reading = self._ask(first, last, wallets, head) if first <= last else None
        with transaction.atomic():
            check_lease(self._spec.name, self._owner, genesis=genesis)
            if reading is not None:
                movements = Owners(self._spec.name).movements(reading.transfers)
                record_movements(movements, now=now)
                confirm_movements(self._spec.name, final, now=now)
            through = reading.last if reading is not None else first - 1
            write_turn(wallets, [through] * len(wallets), now=now)
        return reading is not None

    def _last(self, wallets: Sequence[WatchedWallet], head: Head, limit: int) -> int:
        first = (wallets[0].history_height or 0) + 1
        end = window_end(first, self._window, head_height=head.block.height)
        wanted = max(wallet.history_until or 0 for wallet in wallets)
        return min(end, limit, wanted)

    def _ask(self, first: int, last: int, wallets: Sequence[WatchedWallet], head: Head) -> Reading:
        """Read a window, or as much of its beginning as the node returns at once."""
        keys = frozenset(bytes(wallet.key) for wallet in wallets)
        hint = Hint(keys, keys)
        while True:
            try:
                reading = self._adapter.read(first, last, head=head, hint=hint, ours=keys.intersection)
            except RangeTooLargeError:
                if first == last:
                    raise
                self._window = self._sizes.after_refusal(last - first + 1)
                last = first + self._window - 1
                continue
            except ChainUnavailableError:
                if first == last:
                    # The size was not the cause: forget what was learned about it.
                    self._sizes, self._window = WindowSize(), LARGEST_WINDOW
                raise
            read = last - first + 1
            self._window = self._sizes.after_success(self._window, read=read)
            return reading


class AccountHistory:
    """Reads histories of one chain, each from its oldest block, several wallets at once."""

    def __init__(self, spec: ChainSpec, adapter: AccountAdapter, times: AccountTimes, *, owner: str) -> None:
        self._spec = spec
        self._adapter = adapter
        self._times = times
        self._owner = owner
        self._at_once = adapter.accounts_at_once
        # By height: the time from which an account known up to it is listed.
        self._since: dict[int, datetime] = {}
        self._begins: dict[datetime, int] = {}

    def first_block(self, until: int, now: datetime) -> int:
        """Return the first block of the history of a wallet watched from the block `until` on. Raises ChainError.

        It is the start of a day (UTC), so wallets added on one day begin at the same block.
        """
        day = (now - timedelta(days=settings.WALLET_HISTORY_DAYS)).date()
        midnight = datetime.combine(day, time(), UTC)
        if midnight not in self._begins:
            block = self._times.before(midnight)
            self._begins = {midnight: block.height}
            self._remember(block.height, block.time)
        return min(self._begins[midnight] + 1, until + 1)

    def next_group(self) -> list[WatchedWallet]:
        """Return the wallets whose turn it is; a wallet of several merchants counts once."""
        found = next_group(self._spec.name, most=self._at_once, span=None)
        return list({bytes(one.key): one for one in reversed(found)}.values())

    def read(self, wallets: Sequence[WatchedWallet], *, genesis: str, now: datetime) -> bool:
        """Read further in some accounts and write it; return whether one advanced. Raises ChainError, LeaseLostError.

        Movements that are not final are recorded too; the watcher follows reorgs.
        """
        head = self._adapter.head()
        try:
            accounts = [self._account(wallet) for wallet in wallets]
            readings = self._adapter.read_accounts(accounts, head=head)
        except ChainError:
            # One unreadable account must not block the others.
            self._at_once = max(self._at_once // 2, 1)
            raise
        self._at_once = min(self._at_once * 2, self._adapter.accounts_at_once)
        for reading in readings:
            self._remember(reading.through.height, reading.through.time)
        movements = self._movements(wallets, readings)
        with transaction.atomic():
            check_lease(self._spec.name, self._owner, genesis=genesis)
            record_movements(movements, now=now)
            heights = [reading.through.height for reading in readings]
            write_turn(wallets, heights, now=now)
        return any(reading.through.height > account.height for reading, account in zip(readings, accounts, strict=True))

    def _movements(self, wallets: Sequence[WatchedWallet], readings: Sequence[AccountReading]) -> Sequence[NewMovement]:
        """Return the movements within the blocks of these histories."""
        spans = {
            bytes(wallet.key): range(wallet.history_from or 0, (wallet.history_until or 0) + 1) for wallet in wallets
        }
        own = [
            replace(reading, transfers=[told for told in reading.transfers if told.block_height in spans[reading.key]])
            for reading in readings
        ]
        return account_facts(self._spec.name, own).movements

    def _account(self, wallet: WatchedWallet) -> Account:
        height = wallet.history_height or 0
        if height not in self._since:
            self._remember(height, self._times.at(height).time)
        since = self._since[height]
        return Account(bytes(wallet.key), wallet.address, height, since, most=_MOST_REQUESTS)

    def _remember(self, height: int, since: datetime) -> None:
        if len(self._since) >= _REMEMBERED_HEIGHTS:
            self._since.clear()
        self._since[height] = min(since, self._since.get(height, since))
