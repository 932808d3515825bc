"""Reversals: which transfers of completed checkouts a reorg removed, and the inbox alerts and mails that tell it.

`Payment.reversed_at` claims the fact: a transfer's reversal is told once, and once more if it returns and is removed again.
Callers hold the checkouts' locks.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from django.db import connection

from accounts.states import Mode
from accounts.team.owners import mail_owners
from checkouts.models import Checkout, InboxItem
from checkouts.rows import TransferRow
from checkouts.states import CheckoutException, InboxReason, InboxStatus
from gateway.core.money import readable, readable_units
from wallets.networks import chain_spec

Reversal: TypeAlias = tuple[Checkout, TransferRow]

_MARK: Final = """
    UPDATE checkouts_payment SET reversed_at = %s
    WHERE transfer_id = ANY(%s) AND reversed_at IS NULL RETURNING transfer_id
"""
_UNMARK: Final = """
    UPDATE checkouts_payment p SET reversed_at = NULL FROM wallets_transfer t
    WHERE p.checkout_id = ANY(%s) AND p.reversed_at IS NOT NULL AND t.id = p.transfer_id AND t.state = 'confirmed'
    RETURNING p.transfer_id
"""


def mark_reversed(reversals: Sequence[Reversal], *, now: datetime) -> list[Reversal]:
    """Claim the reversals that nobody was told of; return them."""
    if not reversals:
        return []
    ids = [transfer.transfer_id for _, transfer in reversals]
    with connection.cursor() as cursor:
        cursor.execute(_MARK, [now, ids])
        new = {transfer_id for (transfer_id,) in cursor}
    return [pair for pair in reversals if pair[1].transfer_id in new]


def mark_restored(doubted: Sequence[Checkout], turned: Sequence[Checkout], *, now: datetime) -> None:
    """Close the alerts of transfers that are final again, and queue mails about checkouts that have all their money back."""
    if not doubted:
        return
    with connection.cursor() as cursor:
        cursor.execute(_UNMARK, [[checkout.pk for checkout in doubted]])
        back = [transfer_id for (transfer_id,) in cursor]
    _set_alerts(back, InboxStatus.OPEN, InboxStatus.CREDITED, resolved_at=now)
    for checkout in turned:
        if checkout.exception != CheckoutException.REVERSED:
            _mail(checkout, "restored", "Payment restored", _restored(checkout), now)


def alert(reversals: Sequence[Reversal], *, now: datetime) -> None:
    """Write inbox alerts and queue mails about reversals that `mark_reversed` returned."""
    if not reversals:
        return
    ids = [transfer.transfer_id for _, transfer in reversals]
    told = InboxItem.objects.filter(reason=InboxReason.REVERSED, transfer__in=ids)
    known = set(told.values_list("transfer_id", flat=True))
    _set_alerts(ids, InboxStatus.CREDITED, InboxStatus.OPEN, resolved_at=None)
    _write_alerts([one for one in reversals if one[1].transfer_id not in known], now)
    for checkout, pairs in groupby(reversals, key=itemgetter(0)):
        words = _reversed(checkout, [transfer for _, transfer in pairs])
        _mail(checkout, "reversed", "The network reversed a payment", words, now)


def _set_alerts(
    transfer_ids: Sequence[int], before: InboxStatus, after: InboxStatus, *, resolved_at: datetime | None
) -> None:
    """Change alerts that nobody decided about.

    Items come before checkouts in the order of locks. So one that a person is deciding about is left to that person.
    """
    items = InboxItem.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        reason=InboxReason.REVERSED, transfer__in=transfer_ids, status=before
    )
    standing = {"decisions__undone_at": None, "decisions__failed_at": None}
    decided = InboxItem.objects.filter(transfer__in=transfer_ids, decisions__isnull=False, **standing)
    free = items.exclude(pk__in=decided.values("pk"))
    ids = list(free.order_by("pk").values_list("pk", flat=True))
    InboxItem.objects.filter(pk__in=ids).update(status=after, resolved_at=resolved_at)


def _write_alerts(reversals: Sequence[Reversal], now: datetime) -> None:
    InboxItem.objects.bulk_create(
        InboxItem(
            merchant_id=checkout.merchant_id,
            mode=checkout.mode,
            transfer_id=transfer.transfer_id,
            checkout=checkout,
            reason=InboxReason.REVERSED,
            explanation="a reorganisation removed this transfer after the checkout completed",
            created_at=now,
        )
        for checkout, transfer in reversals
    )


def _mail(checkout: Checkout, kind: str, subject: str, words: str, now: datetime) -> None:
    prefix = "[test mode] " if checkout.mode == Mode.TEST else ""
    order = f" (your order {checkout.order_ref})" if checkout.order_ref else ""
    mail_owners(
        checkout.merchant_id,
        key=f"{kind}:{checkout.public_id}:{checkout.event_count}",
        subject=f"{prefix}{subject}: {checkout.public_id}",
        text=f"Checkout {checkout.public_id}{order} of {readable(checkout.amount)} {checkout.currency} was completed.\n{words}",
        now=now,
    )


def _reversed(checkout: Checkout, lost: Sequence[TransferRow]) -> str:
    return (
        "The network has since reversed these confirmed transfers:\n\n"
        f"{''.join(map(_line, lost))}\n"
        f"Amount received without them: {readable(checkout.amount_received)} USD.\n\n"
        "Its status stays completed, its exception is reversed, and your inbox shows an alert.\n"
        "Hold the goods back if you still can. The money may return. We keep checking.\n"
    )


def _restored(checkout: Checkout) -> str:
    return (
        "The network had reversed its payment. The money is back, and final again.\n\n"
        f"Amount received: {readable(checkout.amount_received)} USD.\n\n"
        "The checkout is paid. You can deliver.\n"
    )


def _line(transfer: TransferRow) -> str:
    amount = f"{readable_units(transfer.units)} {transfer.token}"
    return f"  {amount} on {chain_spec(transfer.chain).title}\n  {transfer.tx_hash}\n"
