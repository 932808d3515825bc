"""Writing what was read of accounts: transfers and each account's cursor move in one transaction, or not at all."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.db.models.functions import Coalesce

from wallets.chains.base import AccountReading, Head
from wallets.chains.registry import ChainSpec
from wallets.expectation import idle_seconds
from wallets.models import EPOCH, ChainCursor, Transfer
from wallets.services import confirm_through, orphan_lost, record_transfers
from wallets.watching.ingest import (
    Owners,
    Pulse,
    known_through,
    lower_accounts,
    vouch,
    write_pulse,
)
from wallets.watching.leases import Lease, fenced

_LACKING: Final = """
    FROM wallets_receivingwallet w
    WHERE w.chain = %(chain)s
      AND NOT EXISTS (SELECT FROM wallets_accountcursor a WHERE a.chain = w.chain AND a.key = w.key)
"""
_OPEN: Final = f"""
    INSERT INTO wallets_accountcursor (chain, key, address, height, height_time, last_error)
    SELECT DISTINCT ON (w.key) w.chain, w.key, w.address, %(height)s, %(time)s, ''
    {_LACKING}
"""


def lacks_accounts(chain: str) -> bool:
    """Whether a merchant's wallet on the chain is not read yet."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS (SELECT {_LACKING})", {"chain": chain})
        [answer] = cursor.fetchone()
    return bool(answer)


def open_accounts(lease: Lease, spec: ChainSpec, pulse: Pulse) -> None:
    """Begin to read the wallets that are not read yet, those that were replaced included.

    What reached them before is none of ours: they are read from the head on. Only with a chain never read before, its
    settings may say where to begin.
    """
    if not lacks_accounts(spec.name):
        return
    height, time = pulse.head.block.height, pulse.head.block.time
    if lease.height is None and spec.start_block is not None:
        height, time = spec.start_block - 1, EPOCH
    with fenced(lease), connection.cursor() as cursor:
        cursor.execute(_OPEN, {"chain": spec.name, "height": height, "time": time})


def commit_accounts(
    lease: Lease,
    spec: ChainSpec,
    *,
    readings: Sequence[AccountReading],
    broken: Mapping[bytes, str],
    lost: Sequence[Transfer],
    final_height: int,
    accounts_read_at: datetime,
    pulse: Pulse,
) -> int:
    """Write what a pass read; return how many transfers were new. Raises LeaseLostError.

    `broken` are accounts that could not be read when others could, and why: their cursors stay. `accounts_read_at` is
    up to when every expected account is read.
    """
    now, head = pulse.now, pulse.head
    owners = Owners(spec.name)
    ours = owners.ours({reading.key for reading in readings})
    transfers = [
        owners.owned(transfer)
        for reading in readings
        if reading.key in ours
        for transfer in reading.transfers
        if transfer.recipient_key == reading.key
    ]
    with fenced(lease):
        new = len(record_transfers(transfers, now=now))
        _advance(spec, readings, pulse)
        note_turns(spec.name, broken, now=now)
        _take_back(spec.name, lost, now=now)
        confirm_through(spec.name, final_height, now=now)
        write_pulse(lease, pulse)
        _cursor(lease, spec, head, accounts_read_at)
        if accounts_read_at == now and not lost:
            vouch(lease, spec, pulse)
    return new


_ADVANCE = """
    UPDATE wallets_accountcursor a
    SET height = GREATEST(a.height, n.height),
        height_time = CASE WHEN n.height > a.height THEN n.time ELSE a.height_time END,
        read_at = CASE
            WHEN n.height >= %(head)s OR n.height <= a.height THEN %(now)s::timestamptz
            ELSE GREATEST(a.read_at, %(now)s::timestamptz - make_interval(secs => %(idle)s)) END,
        read_through_at = GREATEST(a.read_through_at, CASE
            WHEN n.height >= %(head)s OR %(through)s::timestamptz IS NULL THEN %(through)s::timestamptz
            ELSE LEAST(%(through)s::timestamptz, n.time) END),
        last_error = ''
    FROM unnest(%(keys)s::bytea[], %(heights)s::bigint[], %(times)s::timestamptz[]) AS n(key, height, time)
    WHERE a.chain = %(chain)s AND a.key = n.key
"""


def _advance(spec: ChainSpec, readings: Sequence[AccountReading], pulse: Pulse) -> None:
    """Move cursors, never back. One that comes nearer to the head and did not reach it has its next turn soon.

    Not before those that waited longer: somebody may flood it.

    What is known up to its last block is known up to that block's time.
    """
    parameters: dict[str, Any] = {
        "chain": spec.name,
        "head": pulse.head.block.height,
        "now": pulse.now,
        "idle": idle_seconds(spec),
        "through": known_through(spec, pulse),
        "keys": [reading.key for reading in readings],
        "heights": [reading.through.height for reading in readings],
        "times": [reading.through.time for reading in readings],
    }
    with connection.cursor() as cursor:
        cursor.execute(_ADVANCE, parameters)


_TURNS = """
    UPDATE wallets_accountcursor a SET read_at = %(now)s, last_error = left(n.error, 200)
    FROM unnest(%(keys)s::bytea[], %(errors)s::text[]) AS n(key, error)
    WHERE a.chain = %(chain)s AND a.key = n.key
"""


def note_turns(chain: str, errors: Mapping[bytes, str], *, now: datetime) -> None:
    """Write that accounts had their turn and could not be read, and why; no reason where it may be the nodes' fault."""
    if not errors:
        return
    parameters: dict[str, Any] = {
        "chain": chain,
        "now": now,
        "keys": list(errors),
        "errors": [message.replace("\0", "") for message in errors.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(_TURNS, parameters)


def _take_back(chain: str, lost: Sequence[Transfer], *, now: datetime) -> None:
    """Orphan what a fork took, and have those accounts read again from below it: something else may be there now."""
    orphan_lost([one.pk for one in lost], now=now)
    for one in lost:
        if one.wallet is not None:
            lower_accounts(chain, one.block_height - 1, keys=[bytes(one.wallet.key)])


def _cursor(
    lease: Lease, spec: ChainSpec, head: Head, accounts_read_at: datetime
) -> None:
    begun = head.block.height + 1 if spec.start_block is None else spec.start_block
    ChainCursor.objects.filter(chain=lease.chain).update(
        height=head.block.height,
        block_hash=head.block.hash,
        first_height=Coalesce("first_height", begun),
        accounts_read_at=accounts_read_at,
    )
