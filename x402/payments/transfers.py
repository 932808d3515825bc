"""Follows machines' payments on their chains: recorded transfers, finality, reversals and returns. Tells merchants by events."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from django.db import transaction
from django.db.models import QuerySet
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.fees import service
from accounts.states import FeeKind, Mode
from accounts.team.service import mail_owners
from gateway.core import json
from gateway.core.money import format_units
from gateway.core.times import iso
from wallets.chains.base import PARTS_FROM
from wallets.models import Transfer, TransferClaim
from wallets.networks import chain_spec
from wallets.states import ClaimKind, TransferState, TransferUse
from wallets.transfers.service import BATCH, process_queue
from webhooks.outbox.events import NewEvent, publish
from x402 import serializers
from x402.models import Authorization, X402Payment
from x402.payments.addresses import settles_directly
from x402.payments.large import ask_early
from x402.states import AuthorizationState, PaymentStatus

REVERSED: Final = "x402.payment.reversed"
RETURNED: Final = "x402.payment.returned"

_TEXT: Final = pgettext_lazy(
    "team",
    """The machine payment {id} had been verified:

  {amount} {token} on {chain}
  {tx_hash}
  for {resource}

The network has since removed it from the chain, or never confirmed it. The payment is now reversed, and its fee is
refunded. The network does not return what you delivered. The money may still return. We keep checking, and send you a
mail if it does.
""",
)

_WRITTEN: Final = (
    *("transfer", "units", "block_height", "block_time"),
    *("status", "final_at", "settled_at", "reversed_at", "witnessed_at"),
)
_Key: TypeAlias = tuple[str, str, int]


def tell(*, reversed_: Sequence[X402Payment], returned: Sequence[X402Payment], now: datetime) -> None:
    """Queue events, and mails for reversals, in the caller's transaction and as its last step."""
    for payment in reversed_:
        _mail(payment, now)
    events = [*_events(reversed_, REVERSED, now), *_events(returned, RETURNED, now)]
    publish(events, now=now)


def _events(payments: Iterable[X402Payment], what: str, now: datetime) -> Iterable[NewEvent]:
    for payment in payments:
        yield NewEvent(
            merchant_id=payment.merchant_id,
            mode=Mode(payment.mode),
            type=what,
            subject_id=payment.public_id,
            # It may disappear and return more than once.
            occurrence=f"{payment.public_id}:{what}:{iso(now)}",
            data=json.dumps(serializers.X402Payment.of(payment)),
        )


def _mail(payment: X402Payment, now: datetime) -> None:
    mail_owners(
        payment.merchant_id,
        key=f"x402-reversed:{payment.public_id}:{iso(now)}",
        subject=format_lazy(
            pgettext_lazy("team", "The network reversed a machine's payment: {payment}"), payment=payment.public_id
        ),
        text=format_lazy(
            _TEXT,
            id=payment.public_id,
            amount=format_units(payment.units),
            token=payment.token,
            chain=chain_spec(payment.chain).title,
            tx_hash=payment.tx_hash,
            resource=payment.resource or pgettext_lazy("team", "a resource without a name"),
        ),
        now=now,
    )


def follow_transfers(*, now: datetime, batch: int = BATCH) -> int:
    """Process every queued transfer to machines' addresses; return how many there were. Safe to run concurrently.

    Transfers without a payment stay verifiable.
    """
    return process_queue(ClaimKind.X402, lambda queued: _follow(queued, now), now=now, batch=batch)


@transaction.atomic
def _follow(queued: QuerySet[Transfer], now: datetime) -> int:
    transfers = list(queued.select_for_update(skip_locked=True, no_key=True))
    payments = _payments_of(transfers)
    change = _Change(refunded=_refunded(transfers))
    for transfer in transfers:
        payment = payments.get((transfer.chain, transfer.tx_hash, transfer.position))
        payment = payment or _paid_otherwise(payments.values(), transfer)
        if payment is not None and _is_of(payment, transfer):
            change.follow(payment, transfer, now)
    Transfer.objects.filter(pk__in=[one.pk for one in transfers]).update(queued_at=None)
    change.write(now)
    return len(transfers)


def _payments_of(transfers: Sequence[Transfer]) -> dict[_Key, X402Payment]:
    if not transfers:
        return {}
    rows = X402Payment.objects.filter(
        mode=Mode.LIVE, chain__in={one.chain for one in transfers}, tx_hash__in={one.tx_hash for one in transfers}
    )
    locked = rows.order_by("pk").select_for_update(no_key=True)
    return {(one.chain, one.tx_hash, one.position): one for one in locked}


def _refunded(transfers: Sequence[Transfer]) -> frozenset[int]:
    """Return the keys of those transfers that a refund claimed."""
    claims = TransferClaim.objects.filter(transfer__in=transfers, kind=TransferUse.REFUND)
    return frozenset(claims.values_list("transfer_id", flat=True))


def _is_of(payment: X402Payment, transfer: Transfer) -> bool:
    """Whether the transfer is the payment's: mined again, a transaction may pay another recipient at the same position."""
    same = (payment.merchant_id, payment.pay_to, payment.token)
    return same == (transfer.merchant_id, transfer.recipient, transfer.token)


def _paid_otherwise(payments: Iterable[X402Payment], transfer: Transfer) -> X402Payment | None:
    """Return the payment that one release verified as a sum, and another recorded in parts, or the other way round.

    The first part stands for the sum, and the sum for the first part: a transfer pays once. While releases differ, a further
    part of the sum has no transfer; the recheck reverses it and tells the merchant, and a person decides.
    """
    of_it = [
        one
        for one in payments
        if (one.chain, one.tx_hash) == (transfer.chain, transfer.tx_hash)
        and _is_read_otherwise(one, transfer)
        and one.transfer_id in {None, transfer.pk}
        and _is_of(one, transfer)
    ]
    # The one that is linked already comes first.
    found = min(of_it, key=lambda one: (one.transfer_id is None, one.position), default=None)
    if found is None or found.transfer_id or _stands_for(transfer, found):
        return found
    return None


def _is_read_otherwise(payment: X402Payment, transfer: Transfer) -> bool:
    """Whether one of them is a part, and the other a sum."""
    return (transfer.position >= PARTS_FROM) != (payment.position >= PARTS_FROM)


def _stands_for(transfer: Transfer, payment: X402Payment) -> bool:
    """Whether the payment's own transfer is not recorded, and a sum is all that is recorded of the same money."""
    rows = Transfer.objects.filter(
        chain=transfer.chain,
        mode=Mode.LIVE,
        tx_hash=transfer.tx_hash,
        recipient=transfer.recipient,
        token=transfer.token,
    )
    positions = set(rows.values_list("position", flat=True))
    is_only = transfer.position >= PARTS_FROM or positions == {transfer.position}
    return is_only and payment.position not in positions


def reverse(payments: Sequence[X402Payment], *, now: datetime) -> None:
    """Mark payments reversed that are on no chain any more; the caller holds their locks."""
    change = _Change()
    for payment in payments:
        change.reverse(payment, now)
    change.write(now)


def bring_back(payment: X402Payment, *, now: datetime) -> None:
    """Restore a reversed payment that another transaction made; the caller holds its lock, and does no more."""
    change = _Change()
    change.bring_back(payment)
    change.write(now)


@dataclass
class _Change:
    """The changes of a batch of payments, collected so that each table is written once."""

    changed: list[X402Payment] = field(default_factory=list)
    linked: list[Transfer] = field(default_factory=list)
    reversed: list[X402Payment] = field(default_factory=list)
    returned: list[X402Payment] = field(default_factory=list)
    # The transfers that a refund claimed, by key.
    refunded: frozenset[int] = frozenset()

    def follow(self, payment: X402Payment, transfer: Transfer, now: datetime) -> None:
        """Update one payment from its transfer."""
        if payment.transfer_id is None and transfer.pk in self.refunded:
            # It was verified on a node's word while the refund was asked for: its money goes back.
            self.reverse(payment, now)
            return
        if payment.transfer_id is None:
            payment.transfer = transfer
            self.linked.append(transfer)
        is_otherwise = _is_read_otherwise(payment, transfer)
        is_its_part = is_otherwise and transfer.position >= PARTS_FROM
        # Mined again, it may move less than before.
        is_enough = is_its_part or transfer.units >= payment.required_units
        if transfer.state == TransferState.ORPHANED or not is_enough:
            self.reverse(payment, now)
            return
        payment.units = payment.units if is_otherwise else transfer.units
        payment.block_height = transfer.block_height
        payment.block_time = transfer.block_time
        payment.witnessed_at = transfer.witnessed_at
        self._stand(payment, transfer, now)

    def reverse(self, payment: X402Payment, now: datetime) -> None:
        """Reverse a payment."""
        self.changed.append(payment)
        if payment.status == PaymentStatus.REVERSED:
            return
        payment.status = PaymentStatus.REVERSED
        payment.reversed_at = now
        payment.final_at = payment.settled_at = None
        self.reversed.append(payment)

    def bring_back(self, payment: X402Payment) -> None:
        """Restore a reversed payment."""
        self.changed.append(payment)
        payment.status, payment.reversed_at = PaymentStatus.VERIFIED, None
        self.returned.append(payment)

    def _stand(self, payment: X402Payment, transfer: Transfer, now: datetime) -> None:
        if payment.status == PaymentStatus.REVERSED:
            self.bring_back(payment)
        else:
            self.changed.append(payment)
        if transfer.state != TransferState.CONFIRMED or payment.final_at is not None:
            return
        payment.final_at = now
        if settles_directly(payment.chain):
            payment.status, payment.settled_at = PaymentStatus.SETTLED, now

    def write(self, now: datetime) -> None:
        """Write everything, and the merchants' events."""
        X402Payment.objects.bulk_update(self.changed, _WRITTEN)
        TransferClaim.objects.bulk_create(
            [TransferClaim(transfer=one, kind=ClaimKind.X402, claimed_at=now) for one in self.linked],
            ignore_conflicts=True,
        )
        _reopen(self.reversed)
        _close(self.returned)
        gone = [one.public_id for one in self.reversed]
        service.void(FeeKind.X402, gone, now=now)
        back = [one.public_id for one in self.returned]
        service.unvoid(FeeKind.X402, back, now=now)
        tell(reversed_=self.reversed, returned=self.returned, now=now)
        for one in self.changed:
            if one.witnessed_at is None and one.reversed_at is None:
                ask_early(one.merchant_id, one.chain, one.transfer_id, int(one.units), now=now)


def _reopen(payments: Iterable[X402Payment]) -> None:
    """Reopen the authorisations of reversed payments, so that their state is checked again; the caller holds the payments' locks.

    Our transaction may be in another block or may have been replaced by one with higher fees, or a third party was faster.
    While one is open, no proof by hash can use the same money.
    """
    _turn(payments, AuthorizationState.SETTLED, AuthorizationState.SENT)


def _close(payments: Iterable[X402Payment]) -> None:
    """Close what `_reopen` opened, for payments that are back in their block."""
    _turn(payments, AuthorizationState.SENT, AuthorizationState.SETTLED)


def _turn(payments: Iterable[X402Payment], before: AuthorizationState, after: AuthorizationState) -> None:
    ids = sorted(payment.pk for payment in payments)
    if ids:
        rows = Authorization.objects.filter(payment__in=ids, state=before)
        rows.update(state=after, taken_until=None)
