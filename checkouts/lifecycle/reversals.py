"""Alerts a merchant about reorgs that took back money of completed checkouts: an inbox item and a mail."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from accounts.states import Mode
from accounts.team.owners import mail_owners
from checkouts.models import Checkout, InboxItem
from checkouts.rows import TransferRow
from checkouts.states import InboxReason
from gateway.core.money import readable, readable_units
from wallets.networks import chain_spec

Reversal: TypeAlias = tuple[Checkout, TransferRow]


def tell_of_reversals(reversals: Sequence[Reversal], *, now: datetime) -> None:
    """Write alerts and queue mails that are still missing; the caller holds the checkouts' locks."""
    if not reversals:
        return
    told = InboxItem.objects.filter(
        reason=InboxReason.REVERSED,
        transfer__in=[transfer.transfer_id for _, transfer in reversals],
    )
    known = set(told.values_list("transfer_id", flat=True))
    new = [pair for pair in reversals if pair[1].transfer_id not in known]
    _alert(new, now)
    for checkout, pairs in groupby(new, key=itemgetter(0)):
        _mail(checkout, [transfer for _, transfer in pairs], now)


def _alert(reversals: Sequence[Reversal], now: datetime) -> None:
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


def _mail(checkout: Checkout, lost: Sequence[TransferRow], now: datetime) -> None:
    is_test = checkout.mode == Mode.TEST
    prefix = "[test mode] " if is_test else ""
    mail_owners(
        checkout.merchant_id,
        key=f"reversed:{checkout.public_id}:{lost[0].transfer_id}",
        subject=f"{prefix}The network reversed a payment: {checkout.public_id}",
        text=_text(checkout, lost),
        now=now,
    )


def _text(checkout: Checkout, lost: Sequence[TransferRow]) -> str:
    order = f" (your order {checkout.order_ref})" if checkout.order_ref else ""
    return (
        f"Checkout {checkout.public_id}{order} of {readable(checkout.amount)} {checkout.currency} was completed.\n"
        "The network has since reversed these confirmed transfers:\n\n"
        f"{''.join(map(_line, lost))}\n"
        f"Amount received without them: {readable(checkout.amount_received)} USD.\n\n"
        "Its status stays completed, its exception is reversed, and your inbox shows an alert.\n"
        "Hold the goods back if you still can. The money may return. We keep checking.\n"
    )


def _line(transfer: TransferRow) -> str:
    amount = f"{readable_units(transfer.units)} {transfer.token}"
    return f"  {amount} on {chain_spec(transfer.chain).title}\n  {transfer.tx_hash}\n"
