"""The search among a million checkouts and payments of one merchant, and what its indexes cost who creates a checkout.

Times are those of the processor, of this process and of its PostgreSQL backend: what else the machine does changes them little.
"""

import os
import statistics
import time
from pathlib import Path
from typing import Any, Final

from benchmarks import stack
from benchmarks.report import Claim, Report, Series

LARGE: Final = 1_000_000
MOST_MS: Final = 50
# Two per cent of what a checkout's creation takes: 667 a second with 8 clients on two cores (results/).
MOST_MICROSECONDS: Final = 30
BATCH: Final = 5_000
# The kernel counts hundredths of a second.
REPEATED: Final = 10

# Every 50,000th is of walnut, every tenth a table, and those of the first third are of a kind that is no longer sold.
_FILL: Final = """
INSERT INTO checkouts_checkout (
    public_id, code, merchant_id, mode, status, exception, amount, currency, description, metadata, customer_email,
    redirect_url, webhook_url, customer_ref, product_ref, order_ref, creation_ref, offers, deposit_nonce,
    amount_received, underpaid_reported, event_count, test_scenario, expires_at, created_at)
SELECT 'chk_live_' || substr(md5(n::text), 1, 26), 'code' || n, %(merchant)s, 'live', 'expired', '',
       5 + n %% 300 + (n %% 100) / 100.0, 'USD',
       CASE WHEN n %% 50000 = 7 THEN 'Walnut ' ELSE 'Oak ' END || CASE WHEN n %% 10 = 0 THEN 'table' ELSE 'board' END
           || CASE WHEN n < %(rows)s::bigint / 3 THEN ' limited' ELSE '' END || ', 250 x ' || n %% 1000 || ' mm, oiled',
       '{"a":1}', 'buyer' || n || '@shop' || n %% 500 || '.example', '', '', 'cus_' || n %% 20000, '', 'ORD-' || n, 'ORD-' || n,
       '{"base": {"tokens": ["USDC"], "address": "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"}}'::jsonb,
       decode(md5(n::text) || md5((n + 1)::text), 'hex'), 0, 0, 0, '', now(), now()
FROM generate_series(%(first)s::bigint, %(last)s::bigint) n
"""
_DEPOSITS: Final = """
INSERT INTO wallets_depositaddress (key, destination, nonce, merchant_id, mode, purpose, created_at, watched_until)
SELECT decode(substr(md5(id::text) || md5((-id)::text), 1, 40), 'hex'), decode(repeat('11', 20), 'hex'), deposit_nonce,
       merchant_id, mode, 'checkout', now(), now()
FROM checkouts_checkout
"""
_TRANSFERS: Final = """
INSERT INTO wallets_transfer (
    public_id, chain, tx_hash, position, token, units, block_height, block_hash, block_time, state, detected_at, confirmed_at,
    token_address, sender, recipient, deposit_id, labels, is_sum, purpose, merchant_id, mode)
SELECT 'trf_' || d.id, 'base', '0x' || md5('h' || d.id) || md5('i' || d.id), 0, 'USDC', 5000000, d.id, '0x' || md5(d.id::text),
       now() - d.id * interval '1 second', 'confirmed', now(), now(), '0x', '0x' || substr(md5('s' || (d.id % 100000)) || md5(''), 1, 40),
       '0x', d.id, '[]', false, 'checkout', d.merchant_id, d.mode
FROM wallets_depositaddress d
"""
_PAYMENTS: Final = """
INSERT INTO checkouts_payment (checkout_id, transfer_id, reason, credited_at)
SELECT c.id, t.id, '', now() FROM wallets_transfer t JOIN wallets_depositaddress d ON d.id = t.deposit_id
JOIN checkouts_checkout c ON c.deposit_nonce = d.nonce
"""
_TABLES: Final = ("checkouts_checkout", "wallets_depositaddress", "wallets_transfer", "checkouts_payment")
# Indexes of the search that a checkout's creation writes to.
_OF_CREATION: Final = ("checkout_words", "checkout_by_amount")


def _texts(rows: int) -> dict[str, str]:
    """Return what is searched, by its kind."""
    some = rows * 2 // 5
    return {
        "rare word": "walnut",
        "rare word, unfinished": "waln",
        "frequent word": "oak",
        "two frequent words": "oak table",
        "frequent and rare word": "table walnut",
        "word of old ones only": "limited",
        "words of none": "cherry wood",
        "order": f"ORD-{some}",
        "order's beginning": f"ord-{some // 10}",
        "number of the order": str(some),
        "customer": "cus_4711",
        "e-mail address": f"buyer{some}@shop{some % 500}.example",
        "part of e-mail addresses": "shop77",
        "amount": "79.74",
        "amount of none": "79.99",
        "about an amount": "~80",
        "beginning of an id": "chk_live_c4ca42",
        "two letters": "wa",
    }


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure the search page, and creation's rows in turn; `FLORIN_SCALE` is another number than a million."""
    del seconds
    rows = int(os.environ.get("FLORIN_SCALE", LARGE))
    with stack.engines(LOG_LEVEL="ERROR"):
        merchant, _ = stack.seed_merchant()
        _fill(merchant, rows)
        return [_searches(merchant, rows, rounds), _creating(merchant, rows, rounds)]


def _searches(merchant: int, rows: int, rounds: int) -> Report:
    from reports.dashboard.search import matches_of

    seat, texts = _owner(merchant), _texts(rows)
    texts |= {f"beginning of {name}": text for name, text in _beginnings().items()}
    series = {name: Series(name, "ms") for name in texts}
    for _ in range(rounds):
        for name, text in texts.items():
            begun = _processor()
            for _ in range(REPEATED):
                matches_of(seat, text)
            series[name].rounds.append((_processor() - begun) * 1_000 / REPEATED)
    claims = [Claim(f"{name}: milliseconds", one.median, MOST_MS, at_most=True) for name, one in series.items()]
    return Report(f"search among {rows:,} checkouts", [*series.values()], claims)


def _creating(merchant: int, rows: int, rounds: int) -> Report:
    """Insert rows one statement each, in turns with and without the indexes; what was inserted is rolled back."""
    without, having = Series("a row without", "us"), Series("a row with", "us")
    for turn in range(max(rounds, 9)):
        first = rows + 1 + turn * BATCH
        having.rounds.append(_microseconds(merchant, rows, first, without_indexes=False))
        without.rounds.append(_microseconds(merchant, rows, first, without_indexes=True))
    sizes = {name: _size(name) for name in (*_OF_CREATION, "transfer_hash_begins", "transfer_sender_begins")}
    pairs = zip(having.rounds, without.rounds, strict=True)
    more = statistics.median(took - bare for took, bare in pairs)
    notes = [f"{name} has {size / 2**20:,.0f} MiB" for name, size in sizes.items()]
    claim = Claim(
        "microseconds that the search's indexes add to a checkout's row", more, MOST_MICROSECONDS, at_most=True
    )
    return Report("creation beside the search's indexes", [without, having], [claim], notes)


def _microseconds(merchant: int, rows: int, first: int, *, without_indexes: bool) -> float:
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        if without_indexes:
            for name in _OF_CREATION:
                cursor.execute(f"DROP INDEX {name}")
        begun = _processor()
        for number in range(first, first + BATCH):
            cursor.execute(_FILL, {"merchant": merchant, "rows": rows, "first": number, "last": number})
        took = _processor() - begun
        transaction.set_rollback(True)
    return took * 1e6 / BATCH


def _processor() -> float:
    """Return the seconds of the processor that this process and its backend of PostgreSQL took until now."""
    from django.db import connection

    connection.ensure_connection()
    fields = Path(f"/proc/{connection.connection.info.backend_pid}/stat").read_text().rpartition(")")[2].split()
    backend = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return backend + time.process_time()


def _size(name: str) -> int:
    return int(_one("SELECT pg_relation_size(%s::regclass)", name))


def _beginnings() -> dict[str, str]:
    """Return the beginnings of a hash, of a payer's address and of a deposit address that exist."""
    return {
        "a hash": _one("SELECT left(tx_hash, 10) FROM wallets_transfer WHERE id = %s", 4_711),
        "a payer's address": _one("SELECT left(sender, 8) FROM wallets_transfer WHERE id = %s", 4_711),
        "a deposit address": "0x"
        + _one("SELECT left(encode(key, 'hex'), 6) FROM wallets_depositaddress WHERE id = %s", 4_711),
    }


def _one(statement: str, value: int | str) -> Any:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, [value])
        return cursor.fetchone()[0]


def _owner(merchant: int) -> Any:
    from accounts.models import Merchant
    from accounts.states import Mode, Role
    from accounts.team.access import Seat
    from tests.dashboard.people import make_member

    found = Merchant.objects.get(pk=merchant)
    return Seat(make_member(found), found, Role.OWNER, Mode.LIVE)


def _fill(merchant: int, rows: int) -> None:
    """Write rows without triggers, then look at all of them, as autovacuum would."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(_FILL, {"merchant": merchant, "rows": rows, "first": 1, "last": rows})
        for statement in (_DEPOSITS, _TRANSFERS, _PAYMENTS):
            cursor.execute(statement)
        cursor.execute("SET session_replication_role = DEFAULT")
        for table in _TABLES:
            cursor.execute(f"VACUUM ANALYZE {table}")
