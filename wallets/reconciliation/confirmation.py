"""Makes large facts final: the chain itself must call them final, and a second node must confirm them.

The limit is for one transfer's amount. This module does not know checkouts: for parts of a large sum, their consumer asks by
`WitnessRequest`, and counts each as final once that is answered. A machine's payment is of use before it is final: two nodes are
asked about it at once, and again when it is. Movements of watched wallets credit nothing, so only those are large of which
a payout asks.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import structlog
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from accounts.states import Mode
from wallets.chains.base import ChainError, TokenTransfer
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.models import Transfer, WatchedMovement
from wallets.reconciliation.comparison import note_differences
from wallets.reconciliation.sources import Witness, witnesses
from wallets.states import ClaimKind, DifferenceKind, TransferState
from wallets.transfers.movements import answer_for_movements
from wallets.transfers.service import ring_after_commit
from wallets.watchers.leases import is_held
from wallets.watchers.owners import as_told, movement_as_told

log = structlog.get_logger(__name__)

_WORDS_NEEDED: Final = 2
_MOST_AT_ONCE: Final = 50
# The chain's own finality moves every few minutes.
_FINALITY_SECONDS: Final = 5.0
_FIRST_PATIENCE: Final = 5.0
_LONGEST_PATIENCE: Final = 600.0


_Fact = Transfer | WatchedMovement


class LargeAmounts:
    """Confirms the large transfers of one chain, and movements that wait for a witness, while `owner` has its lease.

    It uses its own connections, so that a hanging node delays no detection, and asks none while nothing large waits.
    """

    def __init__(self, spec: ChainSpec, *, owner: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._spec = spec
        self._owner = owner
        self._clock = clock
        self._reader = spec.family.open_adapter(spec, open_pool(spec))
        # Any two of the nodes: the reporting node may no longer be the current one.
        self._witnesses = witnesses(spec)
        self._finality_due = 0.0
        # By fact: when to ask again, and how long to wait after that.
        self._patience: dict[_Fact, tuple[float, float]] = {}

    def tick(self, *, now: datetime) -> int:
        """Confirm facts where possible; return how many, with transfers that two nodes know before they are final.

        Raises ChainError if no node reports finality.
        """
        waiting = self._waiting()
        if not waiting or self._clock() < self._finality_due or not self._is_reader():
            return 0
        self._finality_due = self._clock() + _FINALITY_SECONDS
        finalized = self._reader.finalized()
        final = [one for one in waiting if one.block_height <= finalized][:_MOST_AT_ONCE]
        if not self._witnesses or self._spec.large_units is None:
            return self._confirm(final, now=now, witnessed=False)
        early = [one for one in waiting if self._is_early(one, finalized)][:_MOST_AT_ONCE]
        noted = self._note(self._vouched(early, now, is_final=False), now=now)
        return noted + self._confirm(self._vouched(final, now, is_final=True), now=now, witnessed=True)

    def close(self) -> None:
        """Close the connections to the nodes."""
        self._reader.close()
        for witness in self._witnesses:
            witness.adapter.close()

    def _is_reader(self) -> bool:
        with transaction.atomic():
            return is_held(self._spec.name, self._owner)

    def _waiting(self) -> list[_Fact]:
        live = Transfer.objects.filter(chain=self._spec.name, mode=Mode.LIVE)
        # Two questions, because each has an index of its own. What was asked while there was a limit is answered without one.
        asked = live.filter(_IS_ASKED).exclude(state=TransferState.ORPHANED)
        moved = WatchedMovement.objects.filter(_IS_UNANSWERED, chain=self._spec.name, mode=Mode.LIVE)
        moved = moved.exclude(state=TransferState.ORPHANED).select_related("wallet")
        # Rows of both tables are equal to themselves alone, whatever their ids.
        found: set[_Fact] = {*self._large(live), *asked, *moved}
        waiting = sorted(found, key=lambda one: (one.block_height, one.pk))
        self._patience = {one: p for one, p in self._patience.items() if one in found}
        return [one for one in waiting if self._is_due(one)]

    def _is_early(self, fact: _Fact, finalized: int) -> bool:
        """Whether a machine's payment was asked about, is not final, and two nodes were not heard."""
        if not isinstance(fact, Transfer) or fact.purpose != ClaimKind.X402 or fact.witnessed_at is not None:
            return False
        return fact.block_height > finalized and fact.units < (self._spec.large_units or 0)

    def _large(self, live: QuerySet[Transfer]) -> Iterable[Transfer]:
        """Return the large ones among transfers that are not final; no limit, none."""
        if self._spec.large_units is None:
            return ()
        large = live.filter(state=TransferState.DETECTED, units__gte=self._spec.large_units)
        return large.exclude(token__in=self._spec.finer_tokens)

    def _is_due(self, fact: _Fact) -> bool:
        return self._patience.get(fact, (0.0, 0.0))[0] <= self._clock()

    def _vouched(self, facts: Sequence[_Fact], now: datetime, *, is_final: bool) -> list[_Fact]:
        """Return the facts that two nodes know; the others are asked about again, with growing delays."""
        words = dict.fromkeys(facts, 0)
        for witness in self._witnesses:
            open_ones = [one for one in facts if words[one] < _WORDS_NEEDED]
            for one in self._known_to(witness, open_ones, now, is_final=is_final):
                words[one] += 1
        for one in facts:
            if words[one] < _WORDS_NEEDED:
                self._wait_longer(one)
        return [one for one in facts if words[one] >= _WORDS_NEEDED]

    def _known_to(self, witness: Witness, facts: Sequence[_Fact], now: datetime, *, is_final: bool) -> list[_Fact]:
        if not facts:
            return []
        asked = [self._as_told(one) for one in facts]
        try:
            answers = witness.adapter.witness(asked) or []
        except ChainError as error:
            log.warning("no witness", chain=self._spec.name, error=str(error))
            return []
        known = [one for one, is_known in zip(facts, answers, strict=True) if is_known]
        # Of newer blocks, a node that is a little behind knows nothing yet.
        unknown = [told for told, is_known in zip(asked, answers, strict=True) if not is_known and is_final]
        note_differences(unknown, kind=DifferenceKind.UNKNOWN, source=witness.label, now=now)
        return known

    def _as_told(self, fact: _Fact) -> TokenTransfer:
        if isinstance(fact, WatchedMovement):
            return movement_as_told(fact, self._spec.family)
        return as_told(fact, self._spec.family)

    def _wait_longer(self, fact: _Fact) -> None:
        _, pause = self._patience.get(fact, (0.0, _FIRST_PATIENCE))
        longer = min(2 * pause, _LONGEST_PATIENCE)
        self._patience[fact] = (self._clock() + pause, longer)

    def _confirm(self, facts: Sequence[_Fact], *, now: datetime, witnessed: bool) -> int:
        transfers = [one for one in facts if isinstance(one, Transfer)]
        confirmed = self._change(_CONFIRM, transfers, now=now, witnessed_at=now if witnessed else None)
        return confirmed + self._answer([one for one in facts if isinstance(one, WatchedMovement)], now=now)

    def _answer(self, movements: Sequence[WatchedMovement], *, now: datetime) -> int:
        if not movements:
            return 0
        with transaction.atomic():
            return answer_for_movements(movements, now=now) if is_held(self._spec.name, self._owner) else 0

    def _note(self, facts: Sequence[_Fact], *, now: datetime) -> int:
        transfers = [one for one in facts if isinstance(one, Transfer)]
        return self._change(_NOTE, transfers, now=now, witnessed_at=now)

    def _change(
        self, statement: str, transfers: Sequence[Transfer], *, now: datetime, witnessed_at: datetime | None
    ) -> int:
        if not transfers:
            return 0
        parameters: dict[str, Any] = {
            "ids": [one.pk for one in transfers],
            "hashes": [one.block_hash for one in transfers],
            "witnessed_at": witnessed_at,
            "now": now,
        }
        with transaction.atomic(), connection.cursor() as cursor:
            if not is_held(self._spec.name, self._owner):
                return 0
            cursor.execute(statement, parameters)
            ring_after_commit()
            changed: int = cursor.rowcount
            return changed


_IS_ASKED: Final = Q(witness_request__isnull=False, witness_request__answered_at=None)
_IS_UNANSWERED: Final = Q(witness_asked_at__isnull=False, witness_answered_at=None)

# A reorg may have moved a transfer while the nodes were asked: their answer is then about another block.
_HELD = """
    WITH held AS (
        SELECT t.id, t.block_hash
        FROM unnest(%(ids)s::bigint[], %(hashes)s::text[]) AS vouched(id, block_hash)
        JOIN wallets_transfer t ON t.id = vouched.id AND t.block_hash = vouched.block_hash
        WHERE t.state <> 'orphaned' ORDER BY t.id FOR NO KEY UPDATE OF t
    )"""
_NOTE = f"""{_HELD}
    UPDATE wallets_transfer t SET witnessed_at = %(witnessed_at)s::timestamptz, queued_at = %(now)s::timestamptz
    FROM held WHERE t.id = held.id
"""  # noqa: S608 - only our own text is put in
_CONFIRM = f"""{_HELD}, answered AS (
        UPDATE wallets_witnessrequest w SET answered_at = %(now)s::timestamptz
        FROM held WHERE w.transfer_id = held.id AND w.block_hash = held.block_hash AND w.answered_at IS NULL
        RETURNING w.transfer_id
    )
    UPDATE wallets_transfer t
    SET state = 'confirmed', confirmed_at = COALESCE(t.confirmed_at, %(now)s::timestamptz),
        queued_at = %(now)s::timestamptz, witnessed_at = %(witnessed_at)s::timestamptz
    FROM held LEFT JOIN answered a ON a.transfer_id = held.id
    WHERE t.id = held.id AND (t.state = 'detected' OR a.transfer_id IS NOT NULL)
"""  # noqa: S608 - only our own text is put in
