"""The money invariants as questions to the database. Each names the rule it asks about and fails with what breaks it.

They know the contract and the tables, and share no code with what they judge.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from django.conf import settings
from django.db import connection

from tests.factories import body_of
from tests.invariants.audit import moves

ALLOWED_MOVES = {
    ("pending", "processing"),
    ("pending", "underpaid"),
    ("pending", "completed"),
    ("pending", "expired"),
    ("processing", "pending"),
    ("processing", "underpaid"),
    ("processing", "completed"),
    ("underpaid", "pending"),
    ("underpaid", "processing"),
    ("underpaid", "completed"),
    ("underpaid", "expired"),
}
TOLD = ("completed", "expired", "underpaid")
OPT_IN = tuple(settings.WEBHOOK_OPT_IN_TYPES)
_EXCEPTIONAL = {
    "reversed": ["checkout.reversed"],
    "overpaid": ["checkout.restored"],
    None: ["checkout.restored"],
    "underpaid": [],
}


def rows(statement: str) -> list[tuple[Any, ...]]:
    """Return what the database answers."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor)


def none(statement: str) -> None:
    """Fail if the statement finds anything."""
    found = rows(statement)
    assert not found, found


def every_transfer_is_credited_at_most_once() -> None:
    """Invariant 1, and what carries it: one row per transfer, one claim per credit."""
    none("SELECT chain, tx_hash, position FROM wallets_transfer GROUP BY 1, 2, 3 HAVING count(*) > 1")
    none("SELECT transfer_id FROM checkouts_payment GROUP BY 1 HAVING count(*) > 1")
    none(
        "SELECT p.transfer_id, c.transfer_id FROM checkouts_payment p"
        " FULL JOIN wallets_transferclaim c ON c.transfer_id = p.transfer_id AND c.kind = 'checkout'"
        " WHERE p.id IS NULL OR c.transfer_id IS NULL"
    )


def no_transfer_is_lost(told: Iterable[tuple[str, str, int]]) -> None:
    """Invariant 2: what a chain told is a row; a row is on the queue, gone from its chain, credited or in an inbox."""
    known = set(rows("SELECT chain, tx_hash, position FROM wallets_transfer"))
    assert known == set(told)
    none("SELECT id FROM wallets_transfer WHERE decided_at IS NULL AND queued_at IS NULL AND state <> 'orphaned'")
    none(
        "SELECT t.id FROM wallets_transfer t"
        " LEFT JOIN checkouts_payment p ON p.transfer_id = t.id"
        " LEFT JOIN checkouts_inboxitem i ON i.transfer_id = t.id"
        " WHERE (t.decided_at IS NOT NULL) <> (p.id IS NOT NULL OR i.id IS NOT NULL)"
    )
    none(
        "SELECT i.transfer_id FROM checkouts_inboxitem i"
        " WHERE NOT EXISTS (SELECT FROM checkouts_payment p WHERE p.transfer_id = i.transfer_id)"
        " GROUP BY 1 HAVING count(*) <> 1"
    )


def only_the_right_money_is_credited() -> None:
    """Attribution's rules, asked of the result: credits were offered, in time and no dust; refusals have their reason."""
    none(
        "SELECT t.id FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id"
        " JOIN checkouts_checkout c ON c.id = p.checkout_id"
        " JOIN wallets_depositaddress d ON d.id = t.deposit_id"
        " WHERE d.nonce <> c.deposit_nonce OR t.units < 10000 OR t.merchant_id <> c.merchant_id"
        " OR t.block_time > c.expires_at + interval '60 seconds'"
        " OR NOT COALESCE(c.offers -> t.chain -> 'tokens' ? t.token, false)"
    )
    none(
        "SELECT t.id FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id"
        " JOIN checkouts_checkout c ON c.id = p.checkout_id"
        " WHERE t.wallet_id IS NOT NULL AND (t.units < 10000 OR t.merchant_id <> c.merchant_id"
        " OR t.block_time NOT BETWEEN c.created_at - interval '60 seconds' AND c.expires_at + interval '60 seconds'"
        " OR (c.offers -> t.chain ->> 'wallet') IS DISTINCT FROM t.recipient"
        " OR NOT COALESCE(c.offers -> t.chain -> 'tokens' ? t.token, false)"
        " OR EXISTS (SELECT FROM checkouts_amountreservation r WHERE r.merchant_id = t.merchant_id"
        "  AND r.checkout_id <> c.id AND r.price * 1000000 + r.suffix = t.units AND r.reserved_at <= t.block_time))"
    )
    none(
        "SELECT t.id, i.reason FROM checkouts_inboxitem i JOIN wallets_transfer t ON t.id = i.transfer_id"
        " JOIN checkouts_checkout c ON c.id = i.checkout_id"
        " WHERE NOT CASE i.reason"
        "  WHEN 'dust' THEN t.units < 10000"
        "  WHEN 'wrong_token' THEN t.token NOT IN ('USDC', 'USDT') OR t.chain = 'base' AND t.token = 'USDT'"
        "  WHEN 'wrong_network' THEN t.token IN ('USDC', 'USDT') AND NOT c.offers ? t.chain"
        # Paid in full, be it by transfers that are not final, or that were lost since.
        "  WHEN 'extra' THEN c.status IN ('processing', 'completed') OR EXISTS (SELECT FROM checkouts_payment p"
        "   JOIN wallets_transfer o ON o.id = p.transfer_id WHERE p.checkout_id = c.id AND o.state = 'orphaned')"
        "  WHEN 'reversed' THEN c.status = 'completed'"
        "  WHEN 'late_outage' THEN c.status = 'expired'"
        "  WHEN 'rival' THEN EXISTS (SELECT FROM checkouts_payment p"
        "   WHERE p.transfer_id = t.id AND p.checkout_id = i.checkout_id)"
        "  WHEN 'late' THEN c.status = 'expired' OR t.block_time > c.expires_at + interval '60 seconds'"
        "  ELSE false END"
    )


def statuses_move_as_the_contract_says() -> None:
    """Invariant 4: every move is in the table, and none leaves a final status."""
    for checkout_id, made in moves().items():
        for move in made:
            assert move in ALLOWED_MOVES, (checkout_id, move)
        for (_, reached), (left, _) in pairwise(made):
            assert reached == left, (checkout_id, made)


def each_move_with_an_event_has_one() -> None:
    """Invariant 5: events follow moves one to one; only a shortfall is told again, and only when its sum changed.

    A reversal is no move: its event says that the money is less than before, and each return follows a reversal.
    """
    told: dict[int, list[tuple[str, str]]] = defaultdict(list)
    events = rows(
        "SELECT c.id, e.type, e.body FROM webhooks_event e JOIN checkouts_checkout c ON c.public_id = e.subject_id"
        f" WHERE e.type NOT IN {OPT_IN} ORDER BY e.sequence"
    )
    for checkout_id, kind, body in events:
        data = body_of(body)["data"]
        told[checkout_id].append((kind, data["amount_received"]))
        assert kind in (f"checkout.{data['status']}", *_EXCEPTIONAL[data["exception"]])
    made = moves()
    for checkout_id in told.keys() | made.keys():
        _compare(
            [after for _, after in made.get(checkout_id, []) if after in TOLD],
            [(kind.removeprefix("checkout."), sums) for kind, sums in told[checkout_id]],
        )
    none(
        "SELECT c.id FROM checkouts_checkout c CROSS JOIN LATERAL (SELECT e.type FROM webhooks_event e"
        "  WHERE e.subject_id = c.public_id AND e.type IN ('checkout.reversed', 'checkout.restored')"
        "  ORDER BY e.sequence DESC LIMIT 1) last"
        " WHERE (c.exception = 'reversed') <> (last.type = 'checkout.reversed')"
        " UNION ALL SELECT c.id FROM checkouts_checkout c WHERE c.exception = 'reversed' AND NOT EXISTS"
        "  (SELECT FROM webhooks_event e WHERE e.subject_id = c.public_id AND e.type = 'checkout.reversed')"
    )
    none(
        "SELECT c.id FROM checkouts_checkout c WHERE c.event_count <>"
        " (SELECT count(*) FROM webhooks_event e WHERE e.subject_id = c.public_id"
        f" AND e.type NOT IN {OPT_IN})"
    )


def _compare(moved: list[str], told: list[tuple[str, str]]) -> None:
    kinds = Counter(kind for kind, _ in told)
    for final in ("completed", "expired"):
        assert kinds[final] == moved.count(final) <= 1, (moved, told)
    assert kinds["underpaid"] >= moved.count("underpaid"), (moved, told)
    turns = [kind for kind, _ in told if kind in ("reversed", "restored")]
    assert not turns or "completed" in kinds, (moved, told)
    for before, after in pairwise(["restored", *turns]):
        assert (before, after) != ("restored", "restored"), (moved, told)
    again = sum(before[0] == after[0] == "underpaid" and before[1] != after[1] for before, after in pairwise(told))
    assert kinds["underpaid"] - moved.count("underpaid") <= again, (moved, told)


def _covers(move: tuple[str, str]) -> bool:
    """Whether the price was covered by a move and not before it."""
    before, after = move
    return after == "processing" or (before, after) in {("pending", "completed"), ("underpaid", "completed")}


def what_was_chosen_is_told(merchant_id: int) -> None:
    """The only endpoint that chose opt-in types has each fact of its merchant once, and nobody else has any."""
    none(
        f"SELECT e.id FROM webhooks_event e WHERE e.type IN {OPT_IN} AND (e.merchant_id <> {merchant_id}"
        "  OR (SELECT count(*) FROM webhooks_delivery d WHERE d.event_id = e.id) <> 1)"
    )
    told = dict(
        rows(
            "SELECT c.id, count(*) FROM webhooks_event e JOIN checkouts_checkout c ON c.public_id = e.subject_id"
            " WHERE e.type = 'checkout.processing' GROUP BY 1"
        )
    )
    mine = {pk for (pk,) in rows(f"SELECT id FROM checkouts_checkout WHERE merchant_id = {merchant_id}")}
    made = {pk: sum(map(_covers, found)) for pk, found in moves().items() if pk in mine}
    assert told == {pk: count for pk, count in made.items() if count}
    none(
        "SELECT c.id, t.id FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id"
        " JOIN checkouts_checkout c ON c.id = p.checkout_id"
        f" WHERE c.merchant_id = {merchant_id} AND c.status <> 'expired' AND t.state = 'confirmed' AND t.queued_at IS NULL"
        " AND 1 <> (SELECT count(*) FROM webhooks_event e"
        "  WHERE e.type = 'checkout.transfer_confirmed' AND e.subject_id = c.public_id"
        "  AND convert_from(e.body, 'UTF8')::json #>> '{data,changed_transfer,tx_hash}' = t.tx_hash"
        "  AND convert_from(e.body, 'UTF8')::json #>> '{data,changed_transfer,position}' = t.position::text)"
    )
    none(
        "SELECT i.id, i.reason, i.status FROM checkouts_inboxitem i JOIN wallets_transfer t ON t.id = i.transfer_id"
        f" WHERE i.merchant_id = {merchant_id} AND i.reason <> 'dust' AND (SELECT e.type FROM webhooks_event e"
        "  WHERE e.subject_id = 'inb_' || substr(t.public_id, 5) || '-' || i.reason ORDER BY e.sequence DESC LIMIT 1)"
        " IS DISTINCT FROM CASE WHEN i.status = 'open' THEN 'inbox.opened' ELSE 'inbox.closed' END"
    )


def every_event_is_on_its_way() -> None:
    """Invariant 6, up to the sender: an event has a delivery to the endpoint that was there for it."""
    none(
        "SELECT e.id FROM webhooks_event e JOIN webhooks_endpoint n"
        " ON n.merchant_id = e.merchant_id AND n.mode = e.mode AND n.is_default"
        " WHERE (SELECT count(*) FROM webhooks_delivery d WHERE d.event_id = e.id AND d.endpoint_id = n.id)"
        f"  <> CASE WHEN e.type IN {OPT_IN} THEN 0 ELSE 1 END"
    )
    none(
        "SELECT id FROM webhooks_delivery"
        " WHERE status = 'pending' AND (next_attempt_at IS NULL OR finished_at IS NOT NULL)"
    )


def events_are_numbered_without_gaps() -> None:
    """What a reader of `GET /events` relies on."""
    none(
        "SELECT k.merchant_id, k.mode FROM webhooks_eventcounter k"
        " LEFT JOIN webhooks_event e ON e.merchant_id = k.merchant_id AND e.mode = k.mode"
        " GROUP BY k.id HAVING count(e.id) <> k.value OR COALESCE(min(e.sequence), 1) <> 1"
        " OR COALESCE(max(e.sequence), 0) <> k.value"
    )


# What credited transfers that a chain still holds add up to, in token amounts. One that a successor took over is in the
# sum of the expired checkout as well, which stays as it was.
_STANDING = (
    "SELECT o.checkout_id, sum(t.units) * 0.000001 AS amount FROM checkouts_payment p"
    " CROSS JOIN LATERAL (VALUES (p.checkout_id), (p.handed_by_id)) o (checkout_id)"
    " JOIN wallets_transfer t ON t.id = p.transfer_id"
    " WHERE o.checkout_id IS NOT NULL AND t.state <> 'orphaned' GROUP BY 1"
)
_SETTLED = (
    "NOT EXISTS (SELECT FROM wallets_transfer q JOIN wallets_depositaddress d ON d.id = q.deposit_id"
    " WHERE d.nonce = c.deposit_nonce AND q.queued_at IS NOT NULL)"
    " AND NOT EXISTS (SELECT FROM checkouts_payment qp JOIN wallets_transfer q ON q.id = qp.transfer_id"
    " WHERE qp.checkout_id = c.id AND q.queued_at IS NOT NULL)"
)


def sums_are_those_of_the_transfers() -> None:
    """Invariant 7, per checkout and per merchant, wherever no changed facts wait on the queue."""
    none(
        f"SELECT c.id, c.amount_received, s.amount FROM checkouts_checkout c LEFT JOIN ({_STANDING}) s"
        f" ON s.checkout_id = c.id WHERE {_SETTLED} AND c.amount_received <> COALESCE(s.amount, 0)"
    )
    if rows("SELECT FROM wallets_transfer WHERE queued_at IS NOT NULL LIMIT 1"):
        return
    none(
        "SELECT c.merchant_id FROM checkouts_checkout c"
        f" LEFT JOIN ({_STANDING}) s ON s.checkout_id = c.id GROUP BY 1"
        " HAVING sum(c.amount_received) <> sum(COALESCE(s.amount, 0))"
    )


def settled_statuses_follow_from_the_facts() -> None:
    """Where no changed facts wait, a live status is the one the contract's table gives for the transfers.

    No second node answers here. So the parts of a large sum count only as seen.
    """
    found = rows(
        "SELECT c.status, floor(c.amount * 1000000 - greatest(c.amount * 10000, 50000))::text,"
        " COALESCE(sum(t.units) FILTER (WHERE t.state <> 'orphaned'), 0)::text,"
        " COALESCE(sum(t.units) FILTER (WHERE t.state = 'confirmed' AND NOT (t.units < 10000000000 AND s.is_large)), 0)::text"
        " FROM checkouts_checkout c LEFT JOIN checkouts_payment p ON p.checkout_id = c.id"
        " LEFT JOIN wallets_transfer t ON t.id = p.transfer_id"
        " LEFT JOIN LATERAL (SELECT sum(f.units) >= 10000000000 AS is_large FROM checkouts_payment fp"
        "  JOIN wallets_transfer f ON f.id = fp.transfer_id WHERE fp.checkout_id = c.id AND f.state <> 'orphaned') s ON true"
        f" WHERE c.status NOT IN ('completed', 'expired') AND {_SETTLED} GROUP BY c.id"
    )
    for status, needed, seen, final in found:
        expected = _expected(int(needed), int(seen), int(final))
        assert status in expected, (status, needed, seen, final)


def _expected(needed: int, seen: int, final: int) -> set[str]:
    if final >= needed:
        return {"completed"}
    if seen >= needed:
        return {"processing"}
    if seen == final:
        return {"underpaid"} if final else {"pending"}
    return {"pending", "underpaid"} if final else {"pending"}


def days_are_those_of_the_rows() -> None:
    """What each day brought, to the cent."""
    none(
        "SELECT * FROM (SELECT merchant_id, mode, day, sum(created) AS created, sum(completed) AS completed,"
        "   sum(expired) AS expired, sum(volume) AS volume FROM checkouts_dailytotal GROUP BY 1, 2, 3) k"
        " FULL JOIN (SELECT merchant_id, mode, day, sum(c) AS c, sum(p) AS p, sum(e) AS e, sum(v) AS v FROM ("
        "   SELECT merchant_id, mode, date(created_at AT TIME ZONE 'UTC') AS day, 1 AS c, 0 AS p, 0 AS e, 0 AS v"
        "    FROM checkouts_checkout"
        "   UNION ALL SELECT merchant_id, mode, date(paid_at AT TIME ZONE 'UTC'), 0, 1, 0,"
        "     CASE exception WHEN 'reversed' THEN 0 ELSE round(COALESCE(accepted_amount, amount), 2) END"
        "    FROM checkouts_checkout WHERE status = 'completed'"
        "   UNION ALL SELECT merchant_id, mode, date(expires_at AT TIME ZONE 'UTC'), 0, 0, 1, 0"
        "    FROM checkouts_checkout WHERE status = 'expired') facts GROUP BY 1, 2, 3) r"
        " USING (merchant_id, mode, day)"
        " WHERE (created, completed, expired, volume) IS DISTINCT FROM (c, p, e, v)"
    )


def counts_are_those_of_the_rows() -> None:
    """The counts behind `total`."""
    none(
        "SELECT * FROM (SELECT merchant_id, mode, status, sum(value) AS kept FROM checkouts_checkoutcount"
        "  GROUP BY 1, 2, 3 HAVING sum(value) <> 0) k"
        " FULL JOIN (SELECT merchant_id, mode, status, count(*) AS real FROM checkouts_checkout"
        "  GROUP BY 1, 2, 3) r USING (merchant_id, mode, status)"
        " WHERE kept IS DISTINCT FROM real"
    )
