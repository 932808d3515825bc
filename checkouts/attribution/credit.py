"""Writes the decisions about transfers: claims, payments, inbox items, and their removal from the queue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple, Protocol

from django.db import connection

from checkouts.attribution.deposit_rules import ToInbox
from checkouts.attribution.exact_rules import PassedOver
from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxReason, InboxStatus
from wallets.states import ClaimKind
from wallets.transfers.service import claim_transfers, take_off_queue

# More candidates than this are of no use to a person.
_MOST_SHOWN = 20


class QueuedTransfer(NamedTuple):
    """A queued transfer, locked; `nonce` is that of the deposit address it went to. Model instances cost ten times more."""

    pk: int
    chain: str
    token: str
    units: Decimal
    block_time: datetime
    recipient: str
    state: str
    decided_at: datetime | None
    merchant_id: int
    mode: str
    wallet_id: int | None
    labels: list[str]
    nonce: bytes | None


class LockedTransfer(Protocol):
    """A transfer whose lock the caller holds."""

    @property
    def pk(self) -> int:
        """Return its primary key."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A transfer for the inbox, with its checkout, or with possible ones and the reason against each."""

    transfer: QueuedTransfer
    checkout_id: int | None
    decision: ToInbox
    passed_over: Sequence[PassedOver] = ()


@dataclass(slots=True)
class BatchDecisions:
    """The decisions about a batch. `postponed` transfers pay checkouts that are not locked, whose ids are `wanted`.

    Those in `left` were not decided for lack of time. `notices` are credited transfers that the inbox reports.
    """

    credited: list[tuple[QueuedTransfer, Checkout, str]] = field(default_factory=list)
    inbox: list[Refused] = field(default_factory=list)
    notices: list[Refused] = field(default_factory=list)
    postponed: list[QueuedTransfer] = field(default_factory=list)
    wanted: set[int] = field(default_factory=set)
    left: list[QueuedTransfer] = field(default_factory=list)

    @property
    def decided(self) -> set[int]:
        """Return the ids of the transfers that are decided for good."""
        return {t.pk for t, *_ in self.credited} | {r.transfer.pk for r in self.inbox}


_PAY = """
    INSERT INTO checkouts_payment (checkout_id, transfer_id, reason, credited_at)
    SELECT checkout_id, transfer_id, reason, %s::timestamptz
    FROM unnest(%b::bigint[], %b::bigint[], %b::text[]) AS p(checkout_id, transfer_id, reason)
"""


def write_credits(credited: Sequence[tuple[LockedTransfer, Checkout, str]], now: datetime) -> None:
    """Claim the transfers and write their payments; a primary key refuses a second claim."""
    if not credited:
        return
    ids = [transfer.pk for transfer, _, _ in credited]
    checkouts = [checkout.pk for _, checkout, _ in credited]
    reasons = [reason for _, _, reason in credited]
    claim_transfers(ids, ClaimKind.CHECKOUT, now=now)
    with connection.cursor() as cursor:
        cursor.execute(_PAY, [now, checkouts, ids, reasons])


def write_inbox(items: Iterable[Refused], now: datetime) -> list[InboxItem]:
    """Write inbox items, and return those that a person must decide about."""
    written = InboxItem.objects.bulk_create(_inbox_item(item, now) for item in items)
    return [item for item in written if item.status == InboxStatus.OPEN]


def _inbox_item(item: Refused, now: datetime) -> InboxItem:
    return InboxItem(
        merchant_id=item.transfer.merchant_id,
        mode=item.transfer.mode,
        transfer_id=item.transfer.pk,
        checkout_id=item.checkout_id,
        reason=item.decision.reason,
        explanation=item.decision.explanation,
        candidates=[
            {"checkout": passed.checkout.public_id, "why_not": passed.why_not}
            for passed in item.passed_over[:_MOST_SHOWN]
        ],
        # Dust is kept for the books, but needs no attention.
        status=(InboxStatus.DISMISSED if item.decision.reason == InboxReason.DUST else InboxStatus.OPEN),
        created_at=now,
    )


def release(transfers: Sequence[QueuedTransfer], outcome: BatchDecisions, *, now: datetime, later: timedelta) -> None:
    """Take the batch off the queue; postponed transfers go to its end, `later` than all others.

    Transfers in `left` keep their place in the queue. The watcher cannot have changed these rows: we hold their locks.
    """
    left = {transfer.pk for transfer in outcome.left}
    take_off_queue(
        [transfer.pk for transfer in transfers if transfer.pk not in left],
        decided=list(outcome.decided),
        postponed=[transfer.pk for transfer in outcome.postponed],
        now=now,
        later=now + later,
    )
