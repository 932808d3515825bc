"""Fills a merchant of any size by SQL: a year of checkouts with their transfers, payments and fees."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from gateway.core.daily_totals import Days, nightly_days, rebuild

DAYS = 366
TRANSFERS_EACH = 5
_WALLETS = 50
# Tables to empty before another size is written.
_TABLES = (
    "checkouts_checkout",
    "checkouts_checkoutcount",
    "checkouts_dailytotal",
    "checkouts_payment",
    "checkouts_inboxitem",
    "wallets_depositaddress",
    "wallets_transfer",
    "wallets_transferclaim",
    "wallets_transferday",
    "wallets_watchedwallet",
    "wallets_watchedmovement",
    "wallets_watchedday",
    "accounts_feeentry",
    "accounts_feeday",
)

# Of a hundred, 62 are paid and the others expire; open ones are among the newest.
_CHECKOUTS = """
INSERT INTO checkouts_checkout (
    id, public_id, code, merchant_id, mode, status, exception, amount, currency, description, metadata, customer_email,
    redirect_url, webhook_url, customer_ref, product_ref, order_ref, creation_ref, offers, deposit_nonce,
    amount_received, underpaid_reported, event_count, test_scenario, expires_at, created_at, paid_at)
SELECT n, 'chk_live_' || n, 'c0de' || n, %(merchant)s, 'live', status, '', price, 'USD', 'Ethiopia Guji, 3 x 250 g',
       '{"cart":["guji","sidamo"]}', '', 'https://shop.example/thanks', '', 'customer-' || n %% 50000, 'product-7',
       'order-' || n, 'order-' || n, '{"base": {"tokens": ["USDC"], "address": "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"},
         "polygon": {"tokens": ["USDC", "USDT"], "address": "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"}}'::jsonb,
       decode(md5(n::text) || md5('x' || n), 'hex'),
       CASE WHEN status IN ('completed', 'processing') THEN price WHEN status = 'underpaid' THEN price / 2 ELSE 0 END,
       0, 2, '', made + interval '30 min', made, CASE WHEN status = 'completed' THEN made + interval '4 min' END
FROM (
    SELECT n, %(end)s::timestamptz - (%(rows)s - n) * (%(days)s * interval '1 day' / %(rows)s) AS made,
           10 + n %% 9000 / 100.0 AS price,
           CASE WHEN n %% 100 < 62 THEN 'completed' WHEN n < %(rows)s - 300 THEN 'expired'
                ELSE (ARRAY['pending', 'processing', 'underpaid'])[n %% 3 + 1] END AS status
    FROM generate_series(1, %(rows)s) n
) made
"""
_ADDRESSES = """
INSERT INTO wallets_depositaddress (id, key, destination, nonce, merchant_id, mode, created_at, watched_until)
SELECT id, substring(decode(md5('k' || id) || md5(id::text), 'hex') FOR 20),
       '\\x70997970c51812dc3a010c7d01b50e0d17dc79c8'::bytea, deposit_nonce, merchant_id, mode, created_at,
       created_at + interval '30 days'
FROM checkouts_checkout
"""
# The first of the five pays; one in a hundred is reversed, and the newest are not final.
_TRANSFERS = """
INSERT INTO wallets_transfer (
    id, chain, tx_hash, position, token, token_address, units, sender, recipient, deposit_id, labels, merchant_id, mode,
    block_height, block_hash, block_time, state, detected_at, confirmed_at, decided_at)
SELECT (c.id - 1) * %(each)s + k, pair.chain, '0x' || md5(c.id || 'a' || k) || md5(c.id || 'b' || k), 0, pair.token,
       '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', c.amount * 1000000, '0x' || md5(c.id::text) || '5e5e5e5e',
       '0x' || encode(d.key, 'hex'), d.id, '[]', c.merchant_id, 'live', c.id, '0x' || md5('h' || c.id) || md5('i' || c.id),
       c.created_at + k * interval '1 min', state.name, c.created_at + k * interval '1 min',
       CASE WHEN state.name = 'confirmed' THEN c.created_at + interval '4 min' END, c.created_at + interval '4 min'
FROM checkouts_checkout c JOIN wallets_depositaddress d ON d.id = c.id
CROSS JOIN generate_series(1, %(each)s) k
CROSS JOIN LATERAL (SELECT (ARRAY['base', 'base', 'base', 'polygon', 'polygon'])[c.id %% 5 + 1] AS chain,
                           (ARRAY['USDC', 'USDC', 'USDC', 'USDC', 'USDT'])[c.id %% 5 + 1] AS token) pair
CROSS JOIN LATERAL (SELECT CASE WHEN c.id > %(rows)s - 20 THEN 'detected'
                                WHEN k > 1 AND (c.id + k) %% 100 = 0 THEN 'orphaned' ELSE 'confirmed' END AS name) state
"""
_CLAIMS = """
INSERT INTO wallets_transferclaim (transfer_id, kind, claimed_at)
SELECT (id - 1) * %(each)s + k, 'checkout', created_at + interval '4 min'
FROM checkouts_checkout CROSS JOIN generate_series(1, least(3, %(each)s)) k WHERE status = 'completed'
"""
_PAYMENTS = """
INSERT INTO checkouts_payment (checkout_id, transfer_id, reason, credited_at)
SELECT (transfer_id - 1) / %(each)s + 1, transfer_id, 'it came to the checkout''s own address', claimed_at
FROM wallets_transferclaim
"""
_INBOX = """
INSERT INTO checkouts_inboxitem (merchant_id, mode, transfer_id, checkout_id, reason, explanation, candidates, status, created_at)
SELECT merchant_id, mode, (id - 1) * %(each)s + least(4, %(each)s), id, 'extra', 'The checkout was paid already.', '[]',
       CASE WHEN id %% 1000 = 1 THEN 'open' ELSE 'dismissed' END, created_at
FROM checkouts_checkout WHERE id %% 20 = 1
"""
_FEES = """
INSERT INTO accounts_feeentry (merchant_id, kind, subject_id, chain, token, received, rate, amount, charged_at)
SELECT merchant_id, 'checkout', public_id, 'base', 'USDC', amount, 0.015, round(amount * 0.015, 2), paid_at
FROM checkouts_checkout WHERE status = 'completed'
"""
_CORRECTIONS = """
INSERT INTO accounts_feeentry (merchant_id, kind, subject_id, number, corrects_id, chain, token, received, rate, amount, charged_at)
SELECT f.merchant_id, f.kind, f.subject_id, 1, f.id, f.chain, f.token, -f.received, f.rate, -f.amount,
       f.charged_at + interval '1 hour'
FROM accounts_feeentry f JOIN checkouts_checkout c ON c.public_id = f.subject_id WHERE c.id %% 500 = 0
"""
_WATCHED = """
INSERT INTO wallets_watchedwallet (id, public_id, merchant_id, mode, chain, address, key, label, tags, status, history_error,
                                   created_at)
SELECT n, 'wal_' || n, %(merchant)s, 'live', 'base', '0x' || md5('w' || n) || '00000000',
       decode(md5('w' || n) || '00000000', 'hex'), 'Till ' || n, ARRAY['shop-' || n %% 3, 'tills'], 'active', '', now()
FROM generate_series(1, %(wallets)s) n
"""
_MOVEMENTS = """
INSERT INTO wallets_watchedmovement (
    wallet_id, merchant_id, mode, direction, chain, tx_hash, position, token, token_address, units, counterparty, is_payment,
    block_height, block_hash, block_time, state, detected_at, confirmed_at)
SELECT id / 20 %% %(wallets)s + 1, merchant_id, mode, CASE WHEN id %% 3 = 0 THEN 'out' ELSE 'in' END, 'base',
       '0x' || md5('m' || id) || md5('n' || id), 0, 'USDC', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 1000000 + id, '0x',
       id %% 4 = 0, id, '0x', created_at, 'confirmed', created_at, created_at
FROM checkouts_checkout WHERE id %% 10 = 0
"""
_COUNTS = """
INSERT INTO checkouts_checkoutcount (merchant_id, mode, status, value, is_sum)
SELECT merchant_id, mode, status, count(*), true FROM checkouts_checkout GROUP BY merchant_id, mode, status
"""
_ROWS = (
    _CHECKOUTS,
    _ADDRESSES,
    _TRANSFERS,
    _CLAIMS,
    _PAYMENTS,
    _INBOX,
    _FEES,
    _CORRECTIONS,
    _WATCHED,
    _MOVEMENTS,
    _COUNTS,
)


@dataclass(frozen=True, slots=True)
class _Rule:
    """An index, or a unique constraint, that is dropped and recreated: sorting once is faster than many insertions."""

    drop: str
    make: str


def fill(merchant: int, *, checkouts: int, end: datetime, each: int = TRANSFERS_EACH) -> None:
    """Give a merchant so many checkouts, `each` with as many transfers, in the year up to `end`; other merchants have none."""
    parameters: dict[str, int | datetime] = {
        "merchant": merchant,
        "rows": checkouts,
        "each": each,
        "days": DAYS,
        "wallets": _WALLETS,
        "end": end,
    }
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(_TABLES)} CASCADE")
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        # No triggers: daily totals are computed once, below.
        cursor.execute("SET session_replication_role = replica")
        with _without_indexes():
            for statement in _ROWS:
                cursor.execute(statement, parameters)
                # The next one reads this one's rows.
                cursor.execute("ANALYZE")
        rebuild(dict.fromkeys(nightly_days(end.date()), Days()))
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


@contextmanager
def _without_indexes() -> Iterator[None]:
    rules = list(_rules())
    with connection.cursor() as cursor:
        for rule in rules:
            cursor.execute(rule.drop)
        yield
        for rule in rules:
            cursor.execute(rule.make)


_UNIQUE = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'u' AND conrelid::regclass::text = ANY(%s)
"""
_INDEXES = """
SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
WHERE i.indrelid::regclass::text = ANY(%s) AND NOT i.indisprimary
  AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)
"""


def _rules() -> Iterator[_Rule]:
    with connection.cursor() as cursor:
        cursor.execute(_UNIQUE, [list(_TABLES)])
        for table, name, definition in cursor.fetchall():
            yield _Rule(
                f"ALTER TABLE {table} DROP CONSTRAINT {name}", f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}"
            )
        cursor.execute(_INDEXES, [list(_TABLES)])
        for name, definition in cursor.fetchall():
            yield _Rule(f"DROP INDEX {name}", definition)
