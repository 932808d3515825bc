"""Verifies the books: compares sums with their rows, and books with forwarders' balances on the chain."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog
from django.db import connection
from django.db.models import F

from settlements.models import BookCheck
from wallets.chains.base import ChainError, ChainUnavailableError
from wallets.chains.evm.balances import MOST_HOLDERS, balances_of
from wallets.chains.evm.decode import quantity
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.models import ChainCursor, DepositBalance

log = structlog.get_logger(__name__)

CHECK_EVERY: Final = timedelta(days=1)

_NEVER: Final = datetime.min.replace(tzinfo=UTC)

MOST_WAITING: Final = 3_000
"""How many forwarders with a balance in our books a check reads per chain, fullest first."""

MOST_EMPTY: Final = 200
"""How many forwarders with an empty balance in our books are checked, chosen at random."""

MOST_CUT: Final = 10_000
"""How much more than in the books a forwarder may have of a token that is cut to millionths, in those: less than one is lost of each
transfer, and what is less than one is not recorded. A cent takes ten thousand of them."""

# The share of a minute's requests that a check without pauses may use.
_SHARE: Final = 2
_MOST_TOLD: Final = 100

_BALANCES: Final = """
    WITH moves AS (
        SELECT deposit_id, token, units AS came, 0 AS went FROM wallets_transfer
        WHERE chain = %(chain)s AND mode = 'live' AND state = 'confirmed' AND deposit_id IS NOT NULL
        UNION ALL
        SELECT deposit_id, token, 0, units FROM wallets_depositoutflow WHERE chain = %(chain)s AND state = 'confirmed'
    ), raw AS (
        SELECT deposit_id, token, sum(came) AS received, sum(went) AS flushed FROM moves GROUP BY deposit_id, token
    ), kept AS (SELECT * FROM wallets_depositbalance WHERE chain = %(chain)s)
    SELECT COALESCE(raw.deposit_id, kept.deposit_id), COALESCE(raw.token, kept.token),
           (COALESCE(kept.received, 0) - COALESCE(raw.received, 0))::text,
           (COALESCE(kept.flushed, 0) - COALESCE(raw.flushed, 0))::text
    FROM raw FULL JOIN kept ON kept.deposit_id = raw.deposit_id AND kept.token = raw.token
    WHERE (COALESCE(kept.received, 0), COALESCE(kept.flushed, 0))
          IS DISTINCT FROM (COALESCE(raw.received, 0), COALESCE(raw.flushed, 0))
    ORDER BY 1 LIMIT %(most)s
"""
_TOTALS: Final = """
    WITH raw AS (
        SELECT merchant_id, purpose, token, sum(received) AS received, sum(flushed) AS flushed
        FROM wallets_depositbalance WHERE chain = %(chain)s GROUP BY merchant_id, purpose, token
    ), kept AS (SELECT * FROM wallets_deposittotal WHERE chain = %(chain)s)
    SELECT COALESCE(raw.merchant_id, kept.merchant_id), COALESCE(raw.purpose, kept.purpose),
           COALESCE(raw.token, kept.token),
           (COALESCE(kept.received, 0) - COALESCE(raw.received, 0))::text,
           (COALESCE(kept.flushed, 0) - COALESCE(raw.flushed, 0))::text
    FROM raw FULL JOIN kept ON kept.merchant_id = raw.merchant_id AND kept.purpose = raw.purpose
                           AND kept.token = raw.token
    WHERE (COALESCE(kept.received, 0), COALESCE(kept.flushed, 0))
          IS DISTINCT FROM (COALESCE(raw.received, 0), COALESCE(raw.flushed, 0))
    ORDER BY 1 LIMIT %(most)s
"""
# What was read up to a block, final or not: in a final block both are the same.
_EXPECTED: Final = """
    SELECT wanted.deposit_id, wanted.token,
           (SELECT COALESCE(sum(t.units), 0) FROM wallets_transfer t
            WHERE t.deposit_id = wanted.deposit_id AND t.token = wanted.token AND t.chain = %(chain)s AND t.mode = 'live'
              AND t.state <> 'orphaned' AND t.block_height BETWEEN 0 AND %(height)s)::text,
           (SELECT COALESCE(sum(o.units), 0) FROM wallets_depositoutflow o
            WHERE o.deposit_id = wanted.deposit_id AND o.token = wanted.token AND o.chain = %(chain)s
              AND o.state <> 'orphaned' AND o.block_height BETWEEN 0 AND %(height)s)::text
    FROM unnest(%(deposits)s::bigint[], %(tokens)s::text[]) AS wanted(deposit_id, token)
"""


@dataclass(slots=True)
class Checked:
    """The result of a chain's comparison. `height` is None if the chain was not asked, or did not answer."""

    chain: str
    asked: int = 0
    height: int | None = None
    differences: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Held:
    deposit_id: int
    key: bytes
    token: str


def next_to_check(specs: Sequence[ChainSpec], *, now: datetime) -> ChainSpec | None:
    """Return the chain with the oldest comparison, if it is due (a day old or missing); None if none is due."""
    checked = dict(BookCheck.objects.values_list("chain", "checked_at"))
    due = [spec for spec in specs if spec.name not in checked or now - checked[spec.name] >= CHECK_EVERY]
    return min(due, key=lambda spec: checked.get(spec.name, _NEVER), default=None)


def check_chain(spec: ChainSpec, *, now: datetime, pause: Callable[[float], None] | None = None) -> Checked:
    """Compare a chain's books with their rows and with the chain, store the result and log differences.

    A chain that does not answer is no difference: it is asked again the next day. `pause` waits for so many seconds, so
    that the check takes no more than its nodes allow in a minute; without it, the check ends with half of that.
    """
    _begin(spec, now)
    checked = Checked(spec.name, differences=[*_balance_differences(spec), *_total_differences(spec)])
    pool = open_pool(spec)
    try:
        _ask_chain(spec, pool, checked, pause)
    except ChainError as error:
        log.warning("books not compared", chain=spec.name, error=str(error))
    finally:
        pool.close()
    for difference in checked.differences:
        log.error("the books differ", chain=spec.name, difference=difference)
    BookCheck.objects.update_or_create(
        chain=spec.name,
        defaults={
            "checked_at": now,
            "asked": checked.asked,
            "height": checked.height,
            "differences": checked.differences[:_MOST_TOLD],
        },
    )
    return checked


def _begin(spec: ChainSpec, now: datetime) -> None:
    """Store the start: a check that dies or takes too long must not start again at once, or in parallel."""
    BookCheck.objects.update_or_create(chain=spec.name, defaults={"checked_at": now, "asked": 0, "height": None})


def _balance_differences(spec: ChainSpec) -> list[str]:
    return [
        f"forwarder {deposit} {token}: kept less rows received {received}, flushed {flushed}"
        for deposit, token, received, flushed in _rows(_BALANCES, spec)
    ]


def _total_differences(spec: ChainSpec) -> list[str]:
    return [
        f"merchant {merchant} {purpose} {token}: kept less forwarders received {received}, flushed {flushed}"
        for merchant, purpose, token, received, flushed in _rows(_TOTALS, spec)
    ]


def _rows(statement: str, spec: ChainSpec) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"chain": spec.name, "most": _MOST_TOLD})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _ask_chain(spec: ChainSpec, pool: RpcPool, checked: Checked, pause: Callable[[float], None] | None) -> None:
    before = 0
    for chunk in _chunks(_chosen(spec)):
        if checked.asked and not spec.is_local:
            if pause is not None:
                pause((pool.requests - before) * 60 / spec.requests_per_minute)
            elif pool.requests >= spec.requests_per_minute / _SHARE:
                log.warning("books compared in part", chain=spec.name)
                return
        before = pool.requests
        checked.height = _compare(spec, pool, chunk, checked)
        checked.asked += len(chunk)


def _chosen(spec: ChainSpec) -> list[_Held]:
    """Choose the forwarders to check: all with a balance, and a sample of the empty ones."""
    rows = DepositBalance.objects.filter(chain=spec.name, token__in=spec.tokens)
    listed = rows.values_list("deposit_id", "deposit__key", "token")
    waiting = listed.filter(received__gt=F("flushed"))
    empty = listed.filter(received__lte=F("flushed"))
    newest = list(empty.order_by("-pk")[: 10 * MOST_EMPTY])
    sample = random.sample(newest, min(MOST_EMPTY, len(newest)))
    fullest = list(waiting.order_by(F("flushed") - F("received"))[:MOST_WAITING])
    return [_Held(pk, bytes(key), token) for pk, key, token in [*fullest, *sample]]


def _chunks(held: Sequence[_Held]) -> Iterator[Sequence[_Held]]:
    """Yield chunks of one token each, in the chosen order."""
    by_token: dict[str, list[_Held]] = {}
    for one in held:
        by_token.setdefault(one.token, []).append(one)
    for alike in by_token.values():
        for start in range(0, len(alike), MOST_HOLDERS):
            yield alike[start : start + MOST_HOLDERS]


def _compare(spec: ChainSpec, pool: RpcPool, chunk: Sequence[_Held], checked: Checked) -> int:
    """Compare balances at a final block that was read; nodes keep only the newest blocks' states, so it is chosen each time."""
    height, balances = pool.run(lambda node: _balances(spec, node, chunk))
    expected = _expected(spec, chunk, height)
    for held, balance in zip(chunk, balances, strict=True):
        known, token = expected[held.deposit_id, held.token], spec.tokens[held.token]
        there = token.recorded_units(balance)
        if not 0 <= there - known <= (MOST_CUT if token.cut_decimals else 0):
            checked.differences.append(
                f"forwarder 0x{held.key.hex()} {held.token}: the chain less the books {there - known} at block {height}"
            )
    return height


def _balances(spec: ChainSpec, node: Node, chunk: Sequence[_Held]) -> tuple[int, list[int]]:
    head = quantity(node.call("eth_blockNumber", []))
    cursor = ChainCursor.objects.filter(chain=spec.name).first()
    if cursor is None or cursor.height is None:
        raise ChainUnavailableError("the chain was not read yet")
    height = min(head, cursor.height) - spec.confirmations + 1
    if height < 0:
        raise ChainUnavailableError("the chain has no final block yet")
    token = spec.tokens[chunk[0].token].address
    holders = [held.key for held in chunk]
    return height, balances_of(node, token, holders, height=height)


def _expected(spec: ChainSpec, chunk: Sequence[_Held], height: int) -> dict[tuple[int, str], int]:
    parameters: dict[str, Any] = {
        "chain": spec.name,
        "height": height,
        "deposits": [held.deposit_id for held in chunk],
        "tokens": [held.token for held in chunk],
    }
    with connection.cursor() as cursor:
        cursor.execute(_EXPECTED, parameters)
        return {(pk, token): int(came) - int(went) for pk, token, came, went in cursor}
