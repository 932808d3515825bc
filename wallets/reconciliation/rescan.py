"""Rescans ranges that were read before, beside the watchers: new transfers are recorded, nothing is removed or moved.

Only final blocks are read: blocks that a reorg may replace belong to the watcher.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, cast

from wallets.chains.base import (
    Account,
    AccountAdapter,
    AccountReading,
    BlockAdapter,
    ChainAdapter,
    ChainError,
    Head,
    RangeTooLargeError,
)
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.models import EPOCH, AccountCursor, ChainCursor
from wallets.networks import reads_accounts
from wallets.reconciliation.comparison import since_given
from wallets.selectors import watched_keys
from wallets.transfers.movements import record_missed
from wallets.transfers.service import NewTransfer
from wallets.watchers.account_ingest import account_facts
from wallets.watchers.blocks import LARGEST_WINDOW, WindowSize, read_window, window_end
from wallets.watchers.budget import Budget
from wallets.watchers.owners import Owners, RecordedFacts, record_facts

Say = Callable[[str], None]
_LONG_BLOCKS: Final = 10
# The watchers need their share of what a chain's nodes allow.
_SHARE: Final = 2


class RescanError(Exception):
    """The range cannot be read again; the message says why."""


@dataclass(frozen=True, slots=True)
class Rescanned:
    """The result of a rescan: the last height, how many transfers were seen, and the new ones."""

    last: int
    seen: int
    new: Sequence[NewTransfer]
    failures: Sequence[str] = ()


def rescan(spec: ChainSpec, *, first: int, last: int | None, now: datetime, say: Say) -> Rescanned:
    """Read a chain again from a height on, as `rescan_blocks` and `rescan_accounts` do. Raises RescanError, ChainError."""
    with closing(spec.family.open_adapter(spec, open_pool(spec))) as adapter:
        if not reads_accounts(spec):
            blocks = cast("BlockAdapter", adapter)
            return rescan_blocks(spec, blocks, first=first, last=last, now=now, say=say)
        allowed = max(spec.requests_per_minute // _SHARE, 1)
        budget = Budget(allowed, spent=lambda: adapter.requests)
        return rescan_accounts(
            spec,
            cast("AccountAdapter", adapter),
            first=first,
            last=last,
            now=now,
            say=say,
            pace=lambda: time.sleep(budget.seconds_until(0.0)),
        )


def rescan_blocks(
    spec: ChainSpec, adapter: BlockAdapter, *, first: int, last: int | None, now: datetime, say: Say
) -> Rescanned:
    """Read blocks again from `first` on, up to the last read and final one. Raises RescanError, ChainError."""
    cursor, head = _known_chain(spec, adapter)
    final = adapter.final_height(head, read_height=min(cursor, head.block.height))
    end = min(final, cursor, last if last is not None else cursor)
    if first > end:
        raise RescanError(f"Nothing from {first} on is read and final; {end} is.")
    hint = watched_keys(spec.name)
    owners, sizes, window = Owners(spec.name), WindowSize(), LARGEST_WINDOW
    seen, new, at = 0, [], first
    while at <= end:
        until = min(window_end(at, window, head_height=head.block.height), end)
        try:
            reading = read_window(adapter, at, until, head=head, hint=hint, owners=owners)
        except RangeTooLargeError:
            if window == 1:
                raise
            window = sizes.after_refusal(window)
            continue
        window = sizes.after_success(window, read=until - at + 1)
        facts = owners.facts(reading.transfers)
        seen += len(facts.payments)
        new += _record(facts, now=now)
        at = until + 1
        say(f"{spec.name}: read up to {until} of {end}, {len(new)} new")
    return Rescanned(end, seen, new)


def rescan_accounts(
    spec: ChainSpec,
    adapter: AccountAdapter,
    *,
    first: int,
    last: int | None,
    now: datetime,
    say: Say,
    pace: Callable[[], None],
) -> Rescanned:
    """Read every account again from `first` on, as far as it is read and final. Raises RescanError, ChainError.

    A group of accounts that cannot be read is reported in `failures`. `pace` is called before each group, to wait.
    """
    _, head = _known_chain(spec, adapter)
    final = min(adapter.finalized(), head.block.height)
    end = min(final, last) if last is not None else final
    if first > end:
        raise RescanError(f"Nothing from {first} on is final; {end} is.")
    cursors = list(AccountCursor.objects.filter(chain=spec.name).order_by("pk"))
    step = adapter.accounts_at_once
    seen, new, failures = 0, [], []
    for start in range(0, len(cursors), step):
        group = cursors[start : start + step]
        pace()
        try:
            found = _reread(spec, adapter, group, first=first, head=head)
        except ChainError as error:
            failures.append(f"{', '.join(one.address for one in group)}: {error}")
            continue
        known = {bytes(one.key): one.height or 0 for one in group}
        facts = account_facts(spec.name, [_between(one, first, min(end, known[one.key])) for one in found])
        seen += len(facts.payments)
        new += _record(facts, now=now)
        say(f"{spec.name}: read {start + len(group)} of {len(cursors)} accounts")
    return Rescanned(end, seen, new, failures)


def _known_chain(spec: ChainSpec, adapter: ChainAdapter) -> tuple[int, Head]:
    """Return up to where the chain was read, and its head; the node must serve the same chain."""
    cursor = ChainCursor.objects.filter(chain=spec.name).first()
    if cursor is None or cursor.height is None:
        raise RescanError(f"No watcher has read {spec.title} yet.")
    if adapter.genesis() != cursor.genesis_hash:
        raise RescanError("The node serves another chain than the one that was read.")
    return cursor.height, adapter.head()


def _reread(
    spec: ChainSpec, adapter: AccountAdapter, group: Sequence[AccountCursor], *, first: int, head: Head
) -> list[AccountReading]:
    """Read accounts to the head, or as far as the node returns; large ones are read in parts."""
    accounts = [_from_height(spec, cursor, first) for cursor in group]
    found: list[AccountReading] = []
    while accounts:
        readings = adapter.read_accounts(accounts, head=head)
        found += readings
        accounts = [
            replace(account, height=through.height, time=through.time)
            for account, reading in zip(accounts, readings, strict=True)
            if account.height < (through := reading.through).height < head.block.height
        ]
    return found


def _between(reading: AccountReading, first: int, last: int) -> AccountReading:
    told = [one for one in reading.transfers if first <= one.block_height <= last]
    return replace(reading, transfers=told)


def _from_height(spec: ChainSpec, cursor: AccountCursor, first: int) -> Account:
    """Return the account as if known to just below `first`, with a time that is early enough."""
    blocks = max((cursor.height or 0) - first + 1, 0)
    back = timedelta(seconds=blocks * spec.block_seconds * _LONG_BLOCKS)
    time = cursor.height_time or EPOCH
    # There is nothing before the first block.
    time = time - back if time - EPOCH > back else EPOCH
    return Account(bytes(cursor.key), cursor.address, first - 1, time)


def _record(facts: RecordedFacts, *, now: datetime) -> list[NewTransfer]:
    """Record, and return new payments. One that a reorg removed and that is in a final block again is restored."""
    owned = since_given(facts.payments)
    new = [one for one in owned if record_missed([one], now=now)]
    record_facts(replace(facts, payments=()), now=now)
    return new
