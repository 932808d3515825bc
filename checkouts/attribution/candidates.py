"""Finds the checkouts that transfers to a merchant's own wallet may be meant for, with a few statements per batch.

Each statement uses an index, so its cost is independent of the number of open checkouts; a test checks the query plans.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson
from django.db import connection

from checkouts.amounts import CENT_UNITS, shown_alike
from checkouts.attribution.deposit_rules import BLOCK_SECOND, TransferFacts, is_dust
from checkouts.attribution.exact_rules import MOST_CANDIDATES, MOST_NEAR, Candidate, Known, Reserved
from checkouts.attribution.labels import memos_in, references_in
from checkouts.states import GRACE, CheckoutStatus
from gateway.core.money import from_units, to_units


class Arrival(NamedTuple):
    """A transfer to a merchant's own wallet, with its row's id."""

    pk: int
    merchant_id: int
    mode: str
    facts: TransferFacts

    @property
    def suffix(self) -> int:
        """The digits below a cent."""
        return self.facts.units % CENT_UNITS

    @property
    def cents(self) -> Decimal:
        """Return the amount in USD without these digits."""
        return from_units(self.facts.units - self.suffix)

    @property
    def is_round(self) -> bool:
        """Whether it is a price, or an exact amount that a wallet rounded to the price."""
        return not self.suffix

    @property
    def near(self) -> tuple[Decimal, Decimal]:
        """Return the lowest and highest price in USD within whose tolerance it lies, with a small margin on both sides."""
        units = self.facts.units
        lowest = min(units * 100 // 101, units - 50_000) - CENT_UNITS
        highest = max(units * 100 // 99, units + 50_000) + CENT_UNITS
        return from_units(max(lowest, 0)), from_units(highest)


class Surroundings:
    """The checkouts around some transfers, as the database has them now.

    Money credited from one transfer counts when the next one is judged. A checkout that expired less than `rival_span` before
    a transfer is found for it too. Only a few checkouts are loaded per transfer, each once for all transfers.
    """

    def __init__(self, arrivals: Sequence[Arrival], *, rival_span: timedelta) -> None:
        self._rival_span = rival_span
        self._checkouts: dict[int, Candidate] = {}
        self._labelled: dict[int, dict[int, None]] = defaultdict(dict)
        self._around: dict[int, dict[int, None]] = defaultdict(dict)
        self._counted: Counter[int] = Counter()
        self._naming: set[int] = set()
        self._former: dict[int, int] = {}
        self._crowded: set[int] = set()
        self._near_crowd: set[int] = set()
        self.look_around(arrivals)

    def look_around(self, arrivals: Sequence[Arrival]) -> None:
        """Load the checkouts around further transfers. Dust is skipped: anyone may send it."""
        arrivals = [arrival for arrival in arrivals if not is_dust(arrival.facts)]
        if not arrivals:
            return
        self._find_named(arrivals)
        # A transfer that names its checkout belongs to it, even if other checkouts have a near price.
        self._find_around([a for a in arrivals if a.pk not in self._naming])
        self._load()

    def known(self, transfer_id: int) -> Known:
        """Return the facts around a transfer, by its row's id."""
        former = self._former.get(transfer_id)
        return Known(
            labelled=self._candidates(self._labelled, transfer_id),
            candidates=self._candidates(self._around, transfer_id),
            former=self._checkouts[former] if former is not None else None,
            is_crowded=transfer_id in self._crowded,
            is_near_crowd=transfer_id in self._near_crowd,
        )

    def named_first(self, arrivals: Iterable[Arrival]) -> list[Arrival]:
        """Return the transfers with those first whose label or exact amount names a checkout."""
        return sorted(arrivals, key=lambda arrival: arrival.pk not in self._naming)

    def count(self, checkout_id: int, units: int) -> None:
        """Record that a checkout was credited with so many millionths of a USD."""
        self._counted[checkout_id] += units
        if known := self._checkouts.get(checkout_id):
            self._checkouts[checkout_id] = replace(known, seen_units=known.seen_units + units)

    def _candidates(self, found: Mapping[int, Iterable[int]], transfer_id: int) -> list[Candidate]:
        return [self._checkouts[pk] for pk in found.get(transfer_id, ())]

    def _find_named(self, arrivals: Sequence[Arrival]) -> None:
        for how, transfer_id, checkout_id in _rows(_NAMED, _named(arrivals)):
            if how == "former":
                self._former[transfer_id] = checkout_id
                continue
            found = self._labelled if how == "label" else self._around
            found[transfer_id][checkout_id] = None
            self._naming.add(transfer_id)

    def _find_around(self, arrivals: Sequence[Arrival]) -> None:
        """Find the checkouts with a matching amount, suffix or near price.

        If there are more than the limit, the result says so, because one of the rest may be meant.
        """
        whole = [arrival for arrival in arrivals if arrival.is_round]
        odd = [arrival for arrival in arrivals if not arrival.is_round]
        exactly = {a.pk: (a.cents, a.cents) for a in whole}
        about = {a.pk: a.near for a in arrivals}
        self._find(_PRICED, whole, self._crowded, exactly)
        self._find(_ALIKE, [a for a in odd if shown_alike(a.suffix)], self._crowded)
        self._find(_SUFFIX, odd, self._crowded)
        self._find(_PRICED, arrivals, self._near_crowd, about)

    def _find(
        self,
        statement: str,
        arrivals: Sequence[Arrival],
        crowded: set[int],
        prices: Mapping[int, tuple[Decimal, Decimal]] = MappingProxyType({}),
    ) -> None:
        if not arrivals:
            return
        most = MOST_NEAR if crowded is self._near_crowd else MOST_CANDIDATES
        columns = _columns(arrivals) | {
            "most": most + 1,
            "rival_span": self._rival_span,
            "lowest": [prices[a.pk][0] for a in arrivals if prices],
            "highest": [prices[a.pk][1] for a in arrivals if prices],
        }
        for transfer_id, *parts in _rows(statement, columns):
            for part in parts:
                self._around[transfer_id].update(dict.fromkeys(part[:most]))
                if len(part) > most:
                    crowded.add(transfer_id)

    def _load(self) -> None:
        found = [*self._labelled.values(), *self._around.values()]
        wanted = {pk for some in found for pk in some} | {*self._former.values()}
        ids = sorted(wanted - self._checkouts.keys())
        if not ids:
            return
        reserved: dict[int, list[Reserved]] = defaultdict(list)
        for checkout_id, price, suffix, reserved_at in _rows(_RESERVED, {"ids": ids}):
            reserved[checkout_id].append(Reserved(to_units(price), suffix, reserved_at))
        for row in _rows(_CHECKOUTS, {"ids": ids}):
            known = _candidate(row, reserved.get(row[0], []))
            seen = known.seen_units + self._counted[known.pk]
            self._checkouts[known.pk] = replace(known, seen_units=seen)


def _columns(arrivals: Sequence[Arrival]) -> dict[str, Any]:
    return {
        "id": [a.pk for a in arrivals],
        "merchant": [a.merchant_id for a in arrivals],
        "mode": [a.mode for a in arrivals],
        "cents": [a.cents for a in arrivals],
        "suffix": [a.suffix for a in arrivals],
        "alike": [shown_alike(a.suffix) for a in arrivals],
        "lowest": [],
        "highest": [],
        "block_time": [a.facts.block_time for a in arrivals],
        "grace": GRACE,
        "second": BLOCK_SECOND,
    }


def _named(arrivals: Sequence[Arrival]) -> dict[str, Any]:
    references = [(a, key) for a in arrivals for key in references_in(a.facts.labels)]
    memos = [(a, memo) for a in arrivals for memo in memos_in(a.facts.labels)]
    return _columns(arrivals) | {
        "reference_of": [a.pk for a, _ in references],
        "reference": [key for _, key in references],
        "memo_of": [a.pk for a, _ in memos],
        "memo": [memo for _, memo in memos],
    }


def _candidate(row: Sequence[Any], reserved: Sequence[Reserved]) -> Candidate:
    pk, public_id, status, offers, amount, received, created_at, expires_at, *refs = row
    return Candidate(
        pk=pk,
        public_id=public_id,
        status=CheckoutStatus(status),
        offers=orjson.loads(offers),
        amount_units=to_units(amount),
        seen_units=to_units(received),
        created_at=created_at,
        expires_at=expires_at,
        customer_ref=refs[0],
        product_ref=refs[1],
        is_cancelled=refs[2],
        reserved=tuple(reserved),
    )


def _rows(statement: str, parameters: Mapping[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor)


_ARRIVED = """
    arrived AS (
        SELECT * FROM unnest(
            %(id)s::bigint[], %(merchant)s::bigint[], %(mode)s::text[], %(cents)s::numeric[], %(suffix)s::int[],
            %(alike)s::int[], %(lowest)s::numeric[], %(highest)s::numeric[], %(block_time)s::timestamptz[])
        AS arrived(id, merchant, mode, cents, suffix, alike, lowest, highest, block_time))
"""

# A label may name an amount that was released long ago: no other checkout ever gets that reference. An exact amount names
# its holder, if it was reserved by then, or leads to its last holder.
_NAMED = f"""
    WITH {_ARRIVED}
    SELECT 'label', a.id, r.checkout_id
    FROM unnest(%(reference_of)s::bigint[], %(reference)s::bytea[]) AS sent(id, reference)
    JOIN arrived a ON a.id = sent.id
    JOIN checkouts_amountreservation r ON r.reference = sent.reference
    WHERE r.merchant_id = a.merchant AND r.mode = a.mode
    UNION ALL
    SELECT 'label', a.id, r.checkout_id
    FROM unnest(%(memo_of)s::bigint[], %(memo)s::text[]) AS sent(id, memo)
    JOIN arrived a ON a.id = sent.id
    JOIN checkouts_amountreservation r ON r.memo = sent.memo
    WHERE r.merchant_id = a.merchant AND r.mode = a.mode
    UNION ALL
    SELECT 'amount', a.id, r.checkout_id
    FROM arrived a
    JOIN checkouts_amountreservation r
      ON r.merchant_id = a.merchant AND r.mode = a.mode AND r.price = a.cents AND r.suffix = a.suffix
    WHERE r.released_at IS NULL AND r.reserved_at <= a.block_time + %(grace)s
    UNION ALL
    SELECT 'former', a.id, r.checkout_id
    FROM arrived a CROSS JOIN LATERAL (
        SELECT checkout_id FROM checkouts_amountreservation
        WHERE merchant_id = a.merchant AND mode = a.mode AND price = a.cents AND suffix = a.suffix
          AND released_at IS NOT NULL AND reserved_at <= a.block_time + %(grace)s
        ORDER BY reserved_at DESC, id DESC LIMIT 1) r
"""  # noqa: S608 - nothing but constants is put in

_IN_TIME = """
    c.created_at < a.block_time + %(second)s
    AND c.expires_at >= a.block_time - greatest(%(rival_span)s, %(grace)s)
"""

# After an exchange's round fee, only the digits below a cent are left. Those of a lower price make them doubtful.
_SUFFIX = f"""
    WITH {_ARRIVED}
    SELECT a.id, ARRAY(
        SELECT c.id
        FROM checkouts_amountreservation r JOIN checkouts_checkout c ON c.id = r.checkout_id
        WHERE r.merchant_id = a.merchant AND r.mode = a.mode AND r.suffix = a.suffix AND r.released_at IS NULL
          AND c.status NOT IN ('completed', 'processing') AND {_IN_TIME}
        LIMIT %(most)s)
    FROM arrived a
"""  # noqa: S608 - nothing but constants is put in

# Of an amount that a wallet cut or rounded, only the first digits below a cent are left.
_ALIKE = f"""
    WITH {_ARRIVED}
    SELECT a.id, ARRAY(
        SELECT c.id
        FROM checkouts_amountreservation r JOIN checkouts_checkout c ON c.id = r.checkout_id
        WHERE r.merchant_id = a.merchant AND r.mode = a.mode AND r.price = a.cents AND r.released_at IS NULL
          AND r.suffix > a.suffix - a.alike AND r.suffix < a.suffix + a.alike
          AND c.status NOT IN ('completed', 'processing') AND {_IN_TIME}
        LIMIT %(most)s)
    FROM arrived a
"""  # noqa: S608 - nothing but constants is put in

# The price of a partly paid checkout is what is missing.
_PRICED = f"""
    WITH {_ARRIVED}
    SELECT a.id,
        ARRAY(SELECT c.id FROM checkouts_checkout c
         WHERE c.merchant_id = a.merchant AND c.mode = a.mode AND c.status IN ('pending', 'underpaid')
           AND c.amount BETWEEN a.lowest AND a.highest AND {_IN_TIME}
         LIMIT %(most)s),
        ARRAY(SELECT c.id FROM checkouts_checkout c
         WHERE c.merchant_id = a.merchant AND c.mode = a.mode AND c.status IN ('pending', 'underpaid')
           AND c.amount_received > 0
           AND c.amount - c.amount_received BETWEEN a.lowest - 0.01 AND a.highest AND {_IN_TIME}
         LIMIT %(most)s),
        ARRAY(SELECT c.id FROM checkouts_checkout c
         WHERE c.merchant_id = a.merchant AND c.mode = a.mode AND c.status = 'expired'
           AND c.expires_at > a.block_time - %(rival_span)s
           AND c.created_at < a.block_time + %(second)s
           AND (c.amount BETWEEN a.lowest AND a.highest
                OR c.amount_received > 0 AND c.amount - c.amount_received BETWEEN a.lowest - 0.01 AND a.highest)
         LIMIT %(most)s)
    FROM arrived a
"""  # noqa: S608 - nothing but constants is put in

_CHECKOUTS = """
    SELECT id, public_id, status, offers::text, amount, amount_received, created_at, expires_at, customer_ref,
           product_ref, cancelled_at IS NOT NULL
    FROM checkouts_checkout WHERE id = ANY(%(ids)s::bigint[])
"""
_RESERVED = """
    SELECT checkout_id, price, suffix, reserved_at FROM checkouts_amountreservation
    WHERE checkout_id = ANY(%(ids)s::bigint[]) AND released_at IS NULL
"""
