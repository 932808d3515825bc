"""Writing down what transfers were decided to be: claims, payments, inbox items, and that they are off the queue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple, Protocol

from django.db import connection

from checkouts.attribution.deposit_rules import ToInbox
from checkouts.attribution.evidence import PassedOver
from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxReason, InboxStatus
from wallets.states import ClaimKind
from wallets.transfers.queue import (
    claim_transfers,
    take_off_queue,
)

# More than a person reads.
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
        """Its primary key."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A transfer for the inbox, with whom it belongs to, or with whom it might and why it was not credited there."""

    transfer: QueuedTransfer
    checkout_id: int | None
    decision: ToInbox
    passed_over: Sequence[PassedOver] = ()


@dataclass(slots=True)
class Outcome:
    """What a batch was decided to be. `postponed` are those that pay checkouts not locked, whose ids are `wanted`.

    There was no time for those that are `left`. `notices` are of credited ones, for the inbox to tell.
    """

    credited: list[tuple[QueuedTransfer, Checkout, str]] = field(default_factory=list)
    inbox: list[Refused] = field(default_factory=list)
    notices: list[Refused] = field(default_factory=list)
    postponed: list[QueuedTransfer] = field(default_factory=list)
    wanted: set[int] = field(default_factory=set)
    left: list[QueuedTransfer] = field(default_factory=list)

    @property
    def decided(self) -> set[int]:
        """The ids of the transfers that are decided for good."""
        return {t.pk for t, *_ in self.credited} | {r.transfer.pk for r in self.inbox}


_PAY = """
    INSERT INTO checkouts_payment (checkout_id, transfer_id, reason, credited_at)
    SELECT checkout_id, transfer_id, reason, %s::timestamptz
    FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS p(checkout_id, transfer_id, reason)
"""


def write_credits(
    credited: Sequence[tuple[LockedTransfer, Checkout, str]], now: datetime
) -> None:
    """Claim the transfers, and make them payments; a primary key refuses to claim one that is in use already."""
    if not credited:
        return
    ids = [transfer.pk for transfer, _, _ in credited]
    checkouts = [checkout.pk for _, checkout, _ in credited]
    reasons = [reason for _, _, reason in credited]
    claim_transfers(ids, ClaimKind.CHECKOUT, now=now)
    with connection.cursor() as cursor:
        cursor.execute(_PAY, [now, checkouts, ids, reasons])


def write_inbox(items: Iterable[Refused], now: datetime) -> None:
    """Put transfers where a person decides about them."""
    InboxItem.objects.bulk_create(_inbox_item(item, now) for item in items)


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
        # Dust is kept for the books, not for anybody's attention.
        status=(
            InboxStatus.DISMISSED
            if item.decision.reason == InboxReason.DUST
            else InboxStatus.OPEN
        ),
        created_at=now,
    )


def release(
    transfers: Sequence[QueuedTransfer],
    outcome: Outcome,
    *,
    now: datetime,
    later: timedelta,
) -> None:
    """Take the batch off the queue; what is postponed goes to its end, `later` than all that is there.

    What is left stays where it is. The watcher cannot have changed these rows: we hold their locks.
    """
    left = {transfer.pk for transfer in outcome.left}
    take_off_queue(
        [transfer.pk for transfer in transfers if transfer.pk not in left],
        decided=list(outcome.decided),
        postponed=[transfer.pk for transfer in outcome.postponed],
        now=now,
        later=now + later,
    )
