"""Refunds that people noted by hand, before payouts existed, as payouts: each keeps its hash, which no chain confirmed.

A process of the release before writes such notes still, during an upgrade and after a rollback: so this is done again each day.
"""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.apps import apps
from django.db import transaction

from gateway.core.ids import new_id
from wallets.transfers.returns import Return, ReturnChange, change_returns, reserve_returns, returns_of

Find = Callable[[str, str], Any]
"""Finds a model by app and name: of today, or of a migration's moment."""

_SIX_DECIMALS: Final = 10**6
_NOTHING: Final = Return()


def import_notes(find: Find = apps.get_model) -> int:
    """Make a paid refund of each note, and of each inbox item that was marked as refunded; return how many are new."""
    noted = [_import_note(pk, find) for pk in find("checkouts", "RefundNote").objects.values_list("pk", flat=True)]
    marked = find("checkouts", "InboxDecision").objects.filter(act="refunded", done_at__isnull=False)
    return sum(noted) + sum(_import_mark(pk, find) for pk in marked.exclude(refund_tx="").values_list("pk", flat=True))


@transaction.atomic
def _import_note(pk: int, find: Find) -> bool:
    # Two workers wait here for each other.
    note = find("checkouts", "RefundNote").objects.select_for_update(no_key=True).get(pk=pk)
    checkout = note.checkout
    is_complete = checkout.status == "completed"
    # What a team could note: the overpaid part, or money from before expiry.
    sent = checkout.amount_received - checkout.amount if is_complete else checkout.amount_received
    transfers = find("wallets", "Transfer").objects.filter(payment__checkout=checkout)
    newest_first = list(transfers.order_by("-block_time", "-pk"))
    return _write(find, note.tx_hash, note.author_id, note.noted_at, newest_first, int(sent * _SIX_DECIMALS))


@transaction.atomic
def _import_mark(pk: int, find: Find) -> bool:
    decisions = find("checkouts", "InboxDecision").objects.select_for_update(of=("self",), no_key=True)
    decision = decisions.select_related("item__transfer").get(pk=pk)
    transfer = decision.item.transfer
    return _write(find, decision.refund_tx, decision.actor_id, decision.decided_at, [transfer], int(transfer.units))


def _write(find: Find, tx_hash: str, author_id: int | None, at: datetime, transfers: list[Any], units: int) -> bool:
    """Write a paid refund of at most `units` of transfers of one merchant, of the first ones first, unless it is there."""
    payouts = find("payouts", "Payout").objects
    if not transfers:
        return False
    first = transfers[0]
    whose = {"merchant_id": first.merchant_id, "mode": first.mode}
    if payouts.filter(imported_tx=tx_hash, created_at=at, **whose).exists():
        return False
    returns = returns_of([one.pk for one in transfers])
    shares: dict[int, int] = {}
    for one in transfers:
        part = min(int(one.units) - returns.get(one.pk, _NOTHING).reserved, units - sum(shares.values()))
        if part > 0:
            shares[one.pk] = part
    if not shares:
        return False
    payout = payouts.create(
        public_id=new_id(f"po_{first.mode}"),
        kind="refund",
        status="paid",
        chain=first.chain,
        token=first.token,
        choices=[[first.chain, first.token]],
        units=Decimal(sum(shares.values())),
        imported_tx=tx_hash,
        requested_by_id=author_id,
        created_at=at,
        paid_at=at,
        **whose,
    )
    reserve_returns(shares)
    change_returns([ReturnChange(pk, returned=part) for pk, part in shares.items()])
    sources = find("payouts", "PayoutSource").objects
    for pk, part in shares.items():
        sources.create(payout=payout, transfer_id=pk, units=Decimal(part))
    return True
