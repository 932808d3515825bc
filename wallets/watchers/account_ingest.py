"""Writes account readings: transfers and each account's cursor in one transaction, or nothing."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.db.models.functions import Coalesce

from wallets.chains.base import AccountReading, Head
from wallets.chains.family import ChainSpec
from wallets.models import EPOCH, ChainCursor
from wallets.states import Direction
from wallets.transfers.movements import NewMovement, confirm_movements, orphan_lost_movements
from wallets.transfers.service import confirm_through, orphan_lost
from wallets.watchers.account_forks import MissingFacts
from wallets.watchers.demand import idle_seconds
from wallets.watchers.ingest import Pulse, known_through, lower_accounts, vouch, write_pulse
from wallets.watchers.leases import Lease, fenced
from wallets.watchers.owners import Owners, RecordedFacts, record_facts

# By EXCEPT, which compares each wallet once. As an anti join it compared each with each until PostgreSQL had analysed the
# tables: five seconds for ten thousand new wallets.
_READ: Final = "SELECT key FROM wallets_accountcursor WHERE chain = %(chain)s"
_LACKS_RECEIVING: Final = f"""
    SELECT EXISTS (SELECT key FROM wallets_receivingwallet WHERE chain = %(chain)s EXCEPT {_READ})
"""  # noqa: S608 - only our own text is put in
_LACKS_WATCHED: Final = f"""
    SELECT EXISTS (
        SELECT key FROM wallets_watchedwallet WHERE chain = %(chain)s AND mode = 'live' AND removed_at IS NULL
        EXCEPT {_READ})
"""  # noqa: S608 - only our own text is put in
_OPEN: Final = """
    INSERT INTO wallets_accountcursor (chain, key, address, height, height_time, last_error)
    SELECT DISTINCT ON (w.key) w.chain, w.key, w.address, %(height)s::bigint, %(time)s::timestamptz, ''
    FROM (
        SELECT chain, key, address FROM wallets_receivingwallet WHERE chain = %(chain)s
        UNION ALL
        SELECT chain, key, address FROM wallets_watchedwallet
        WHERE chain = %(chain)s AND mode = 'live' AND removed_at IS NULL) AS w
    WHERE NOT EXISTS (SELECT FROM wallets_accountcursor a WHERE a.chain = w.chain AND a.key = w.key)
"""


def lacks_accounts(chain: str) -> bool:
    """Whether a merchant's wallet on the chain is not read yet."""
    return _is_lacking(_LACKS_RECEIVING, chain)


def lacks_watched(chain: str) -> bool:
    """Whether a watched wallet is not read yet. There may be ten thousand to check."""
    return _is_lacking(_LACKS_WATCHED, chain)


def _is_lacking(statement: str, chain: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"chain": chain})
        [answer] = cursor.fetchone()
    return bool(answer)


def open_accounts(lease: Lease, spec: ChainSpec, pulse: Pulse) -> None:
    """Start reading wallets that are not read yet, including replaced and watched-only ones.

    Reading starts at the head, because earlier transfers do not count. Only for a chain never read before, settings may
    set the start.
    """
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
    missing: MissingFacts,
    final_height: int,
    accounts_read_at: datetime,
    pulse: Pulse,
) -> int:
    """Write a pass's readings; return how many payments were new. Raises LeaseLostError.

    `broken` maps accounts that failed alone to the reason: their cursors stay. Up to `final_height` everything is final
    except for `missing`. All expected accounts are read up to `accounts_read_at`.
    """
    now, head = pulse.now, pulse.head
    facts = account_facts(spec.name, readings)
    with fenced(lease):
        new = len(record_facts(facts, now=now))
        _advance(spec, readings, pulse)
        note_turns(spec.name, broken, now=now)
        _take_back(spec.name, missing, now=now)
        confirm_through(spec.name, missing.final_height(final_height), now=now)
        confirm_movements(spec.name, missing.final_moved_height(final_height), now=now)
        _drop_unwanted(spec.name)
        write_pulse(lease, pulse)
        _cursor(lease, spec, head, accounts_read_at)
        if accounts_read_at == now and not (missing.lost or missing.lost_moved):
            vouch(lease, spec, pulse)
    return new


def account_facts(chain: str, readings: Sequence[AccountReading]) -> RecordedFacts:
    """Return the readings' facts about their own accounts; the other side is reported by its own reading, if any.

    A movement is recorded together with the payment that it is, because the payment decides whether reports have it
    already.
    """
    told = {(one.key, told): None for one in readings for told in one.transfers}
    owners = Owners(chain)
    return RecordedFacts(
        payments=owners.payments(one for key, one in told if one.recipient_key == key),
        movements=[
            one for one in owners.movements(dict.fromkeys(one for _, one in told)) if (_own_key(one), one.told) in told
        ],
    )


def _own_key(movement: NewMovement) -> bytes:
    is_in = movement.direction is Direction.IN
    return movement.told.recipient_key if is_in else movement.told.sender_key


# Oldest turns first: accounts that are no longer wanted are not read, so they come to the front.
_DROP: Final = """
    DELETE FROM wallets_accountcursor a
    WHERE a.id IN (
        SELECT id FROM wallets_accountcursor WHERE chain = %(chain)s ORDER BY read_at LIMIT %(most)s)
      AND NOT EXISTS (SELECT FROM wallets_receivingwallet r WHERE r.chain = a.chain AND r.key = a.key)
      AND NOT EXISTS (
        SELECT FROM wallets_watchedwallet o
        WHERE o.chain = a.chain AND o.key = a.key AND o.mode = 'live' AND o.removed_at IS NULL)
"""
_MOST_LOOKED_AT: Final = 500


def _drop_unwanted(chain: str) -> None:
    """Delete the cursors of accounts that no merchant receives at or watches any more."""
    with connection.cursor() as cursor:
        cursor.execute(_DROP, {"chain": chain, "most": _MOST_LOOKED_AT})


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
    """Move cursors, never back. One that advanced but did not reach the head has its next turn soon.

    It comes after those that waited longer, because it may be flooded. An account known up to its last block is known up
    to that block's time.
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
    """Record that accounts had their turn but failed, and why; no reason if the nodes may be at fault."""
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


def _take_back(chain: str, missing: MissingFacts, *, now: datetime) -> None:
    """Orphan facts that a reorg removed, and have their accounts read again from below: other facts may be there now."""
    orphan_lost([one.fact.pk for one in missing.lost], now=now)
    orphan_lost_movements([one.fact.pk for one in missing.lost_moved], now=now)
    for one in (*missing.lost, *missing.lost_moved):
        lower_accounts(chain, one.fact.block_height - 1, keys=[one.key])


def _cursor(lease: Lease, spec: ChainSpec, head: Head, accounts_read_at: datetime) -> None:
    begun = head.block.height + 1 if spec.start_block is None else spec.start_block
    ChainCursor.objects.filter(chain=lease.chain).update(
        height=head.block.height,
        block_hash=head.block.hash,
        first_height=Coalesce("first_height", begun),
        accounts_read_at=accounts_read_at,
    )
