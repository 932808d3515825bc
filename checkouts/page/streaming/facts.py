"""The facts that an open page depends on, read for many pages at once. Runs in threads, never in the event loop."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import orjson
from django.db import connection
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from wallets.networks import chain_spec
from wallets.selectors import chain_statuses, down_reasons
from wallets.states import ChainStatus, DownReason, TransferState
from wallets.transfers.doubts import DOUBTED

_FACTS = f"""
    SELECT c.id, c.mode, c.status, c.exception, c.amount_received::text, c.expires_at,
           ARRAY(SELECT jsonb_object_keys(c.offers)),
           (SELECT max(r.id) FROM checkouts_amountreservation r
            WHERE r.checkout_id = c.id AND r.released_at IS NULL),
           (SELECT json_agg(json_build_array(t.id, t.state, t.chain, k.head - t.block_height + 1, COALESCE({DOUBTED}, false))
                            ORDER BY t.id)::text
            FROM checkouts_payment p
            JOIN wallets_transfer t ON t.id = p.transfer_id
            LEFT JOIN wallets_chaincursor k ON k.chain = t.chain
            WHERE p.checkout_id = c.id)
    FROM checkouts_checkout c
    WHERE c.id = ANY(%s::bigint[])
"""  # noqa: S608 - a constant condition
ChainState: TypeAlias = tuple[ChainStatus, DownReason | None]
_TAKES_MONEY = {CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID}


class SeenTransfer(NamedTuple):
    """A credited transfer; its confirmations are capped at those required, as on the page."""

    id: int
    state: str
    confirmations: int
    required: int
    is_doubted: bool


class PageFacts(NamedTuple):
    """Everything on a page that changes without the buyer's action. Equal facts render equal pages for equal choices."""

    status: CheckoutStatus
    exception: str
    received: str
    is_over: bool
    reservation: int | None
    transfers: tuple[SeenTransfer, ...]
    chains: tuple[tuple[str, ChainStatus, DownReason | None], ...]

    @property
    def is_final(self) -> bool:
        """Whether the page is final. A completed one is not: a network may reverse its payment."""
        return self.status == CheckoutStatus.EXPIRED

    @property
    def is_counting(self) -> bool:
        """Whether each new block may change it."""
        return any(
            transfer.state == TransferState.DETECTED and transfer.confirmations < transfer.required
            for transfer in self.transfers
        )


def find_page(code: str) -> tuple[int, bool] | None:
    """Return a checkout's id and whether it is final; None for an unknown code."""
    rows = Checkout.objects.filter(code=code).values_list("pk", "status")
    return next(((pk, status == CheckoutStatus.EXPIRED) for pk, status in rows), None)


def read_facts(checkout_ids: Sequence[int]) -> dict[int, PageFacts]:
    """Return the current facts of these checkouts, by id. Raises DatabaseError."""
    now = timezone.now()
    statuses, reasons = chain_statuses(now=now), down_reasons(now=now)
    states = {chain: (status, reasons[chain]) for chain, status in statuses.items()}
    with connection.cursor() as cursor:
        cursor.execute(_FACTS, [list(checkout_ids)])
        return {row[0]: _facts(row, states, now) for row in cursor}


def _facts(row: tuple[Any, ...], states: dict[str, ChainState], now: datetime) -> PageFacts:
    _, mode, status, exception, received, expires_at, offered, reservation, seen = row
    # Simulated money does not depend on the chains' state.
    depends_on_chains = mode == Mode.LIVE and status in _TAKES_MONEY
    return PageFacts(
        status=CheckoutStatus(status),
        exception=exception,
        received=received,
        is_over=now >= expires_at,
        reservation=reservation,
        transfers=tuple(_seen(*one) for one in orjson.loads(seen or b"[]")),
        chains=tuple((chain, *states.get(chain, (ChainStatus.OK, None))) for chain in sorted(offered))
        if depends_on_chains
        else (),
    )


def _seen(transfer_id: int, state: str, chain: str, count: int | None, is_doubted: bool) -> SeenTransfer:
    required = chain_spec(chain).confirmations
    counted = min(max(count or 0, 0), required)
    return SeenTransfer(transfer_id, state, counted, required, is_doubted)
