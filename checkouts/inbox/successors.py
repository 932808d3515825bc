"""Successors: a new checkout takes the money of an expired one, which never changes, and completes."""

import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounts.states import Mode
from checkouts.amounts import needed_units
from checkouts.attribution.credit import write_credits
from checkouts.creation.quotes import copy_quote
from checkouts.errors import DecisionFailedError
from checkouts.inbox.undo import STANDING
from checkouts.lifecycle.counts import DayChange, add_to_days, count, day_of
from checkouts.lifecycle.moves import complete_short, is_large_part, recompute
from checkouts.models import Checkout, InboxDecision, InboxItem, Payment
from checkouts.pricing import TokenUnits, value_of
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus
from gateway.core.ids import new_id
from gateway.core.money import to_units
from gateway.core.texts import pgettext_noop
from wallets.models import Transfer
from wallets.states import TransferState
from wallets.transfers.doubts import doubted_of
from wallets.transfers.returns import returns_of
from wallets.transfers.service import ask_witnesses

PROMISED: Final = pgettext_noop("team", "A refund of this money was asked for. Cancel that first.")
# Of a payment that a refund sends back in part, the successor would have more than is left: `refuse_promised` stops it.
_STANDS: Final = ~Q(transfer__state=TransferState.ORPHANED) & (
    Q(transfer__sent_back=None) | Q(transfer__sent_back__reserved__lt=F("transfer__units"))
)
LATE_KINDS: Final = (InboxReason.LATE, InboxReason.LATE_OUTAGE)
# Copied from the expired checkout.
_INHERITED: Final = (
    "merchant_id",
    "mode",
    "amount",
    "price",
    "currency",
    "dues",
    "description",
    "metadata",
    "customer_email",
    "redirect_url",
    "webhook_url",
    "customer_ref",
    "product_ref",
    "order_ref",
    # The money does not move: the successor shares the expired checkout's hold.
    "escrow",
)


def late_items(item: InboxItem) -> list[InboxItem]:
    """Return the item and its checkout's other late items without a decision.

    Transfers that a reorg removed, or that were credited elsewhere, are left out.
    """
    return late_items_with(item, item.checkout_id) if item.checkout_id else []


def late_items_with(item: InboxItem, checkout_id: int) -> list[InboxItem]:
    """Return the item, and the late items without a decision of the expired checkout that it is to pay."""
    return _late_items(checkout_id, item.pk)


def _late_items(checkout_id: int, item_id: int | None) -> list[InboxItem]:
    decided = InboxDecision.objects.filter(STANDING, item=OuterRef("pk"))
    undecided = Q(checkout=checkout_id, reason__in=LATE_KINDS) & ~Exists(decided)
    unused = Q(transfer__claim=None) | Q(transfer__payment__checkout=checkout_id)
    found = InboxItem.objects.filter(Q(pk=item_id) | undecided, unused, status=InboxStatus.OPEN)
    return list(found.exclude(transfer__state=TransferState.ORPHANED).order_by("pk"))


def late_units(item: InboxItem, checkout_id: int | None = None) -> int:
    """Return the successor's total in millionths of a USD: the expired one's payments and all late money.

    The expired checkout is the item's own, or one that a person chose for it.
    """
    checkout_id = checkout_id or item.checkout_id
    transfers = transfers_with(item, checkout_id) if checkout_id else ()
    if checkout_id is None or not transfers:
        return 0
    own = item.checkout if item.checkout_id == checkout_id else None
    return value_of(own or Checkout.objects.get(pk=checkout_id), map(money_of, transfers))


def transfers_with(item: InboxItem, checkout_id: int) -> Sequence[Transfer]:
    """Return the transfers that the successor of an expired checkout would have with an item's; none if the item's cannot be used."""
    items = late_items_with(item, checkout_id)
    if item.pk not in {late.pk for late in items}:
        return ()
    found = Transfer.objects.filter(pk__in=_transfer_ids(checkout_id, items))
    return list(found.select_related("witness_request"))


def awaits_others(item: InboxItem, *, now: datetime) -> bool:
    """Whether late money would complete a successor with money in doubt, or with parts of a large sum that one node alone told of.

    A second node is asked about such parts: one node cannot complete a large checkout where no person looks at it.
    """
    checkout = item.checkout
    transfers = transfers_with(item, checkout.pk) if checkout is not None else ()
    if checkout is None or not transfers:
        return False
    sum_of_all = value_of(checkout, map(money_of, transfers))
    unvouched = [one.pk for one in transfers if is_large_part(one, sum_of_all) and not one.is_vouched]
    ask_witnesses(unvouched, now=now)
    return bool(unvouched or doubted_of([one.pk for one in transfers]))


def money_of(transfer: Transfer) -> TokenUnits:
    """Return a transfer's token and units."""
    return transfer.token, int(transfer.units)


def money_of_expired(checkout_ids: Collection[int]) -> dict[int, dict[int, TokenUnits]]:
    """Return the token and units of each transfer that successors of expired checkouts would have, by checkout and transfer.

    Checkouts that have a successor are left out.
    """
    replaced = Checkout.objects.filter(replaces__in=checkout_ids).values_list("replaces_id", flat=True)
    found: dict[int, dict[int, TokenUnits]] = {pk: {} for pk in set(checkout_ids) - set(replaced)}
    if not found:
        return {}
    standing = Payment.objects.filter(_STANDS, checkout__in=found)
    decided = InboxDecision.objects.filter(STANDING, item=OuterRef("pk"))
    unused = Q(transfer__claim=None) | Q(transfer__payment__checkout=F("checkout"))
    late = InboxItem.objects.filter(~Exists(decided), unused, checkout__in=found, reason__in=LATE_KINDS)
    waiting = late.filter(status=InboxStatus.OPEN).exclude(transfer__state=TransferState.ORPHANED)
    columns = ("checkout_id", "transfer_id", "transfer__token", "transfer__units")
    for checkout_id, transfer_id, token, units in [*standing.values_list(*columns), *waiting.values_list(*columns)]:
        found[checkout_id][transfer_id] = (token, int(units))
    return found


def accept_late(
    item: InboxItem, *, checkout_id: int | None = None, least: Decimal | None = None, now: datetime
) -> Checkout:
    """Create the successor of an item's expired checkout, or of one chosen for it, paid by all its money; return it completed.

    `least` is the sum in USD that a person accepts although it is less than the price; without it, the price must be
    reached. Raises DecisionFailedError where the money is not enough, not final, or the checkout has a successor already.
    """
    checkout_id = checkout_id or item.checkout_id
    if checkout_id is None:
        raise DecisionFailedError("No expired or cancelled checkout matches this money.")
    items = _hold_late_items(checkout_id, item.pk)
    if item.pk not in {late.pk for late in items}:
        raise DecisionFailedError("The network reversed this transfer, or it has already been credited.")
    return _succeed_with(checkout_id, items, least, now)


def accept_expired(checkout_id: int, *, least: Decimal, now: datetime) -> Checkout:
    """Create the successor of an expired checkout that received at least `least` USD, less than its price; return it completed.

    Late money that nobody decided about pays it too. Raises DecisionFailedError as `accept_late`.
    """
    return _succeed_with(checkout_id, _hold_late_items(checkout_id, None), least, now)


def _succeed_with(checkout_id: int, items: Sequence[InboxItem], least: Decimal | None, now: datetime) -> Checkout:
    transfers = _lock_transfers(_transfer_ids(checkout_id, items))
    expired = _lock_expired(checkout_id)
    if _transfer_ids(checkout_id, items) != {transfer.pk for transfer in transfers}:
        raise DecisionFailedError("A refund of its first payment was asked for.")
    refuse_promised([transfer.pk for transfer in transfers])
    is_short = _refuse_unready(expired, transfers, least)
    successor = _succeed(expired, now)
    _hand_over(expired, successor, transfers, now)
    close_items(items, InboxStatus.CREDITED, now=now)
    confirmed = {transfer.pk for transfer in transfers}
    if is_short and least is not None:
        complete_short(successor, least=least, now=now, confirmed=confirmed, items=items)
    else:
        recompute([successor], now=now, confirmed=confirmed, items=items)
    if successor.status != CheckoutStatus.COMPLETED:
        raise DecisionFailedError("The money is not enough for the price.")
    return successor


def close_items(items: Sequence[InboxItem], status: InboxStatus, *, now: datetime) -> None:
    """Close items, in the rows and in `items`. The caller holds their locks, and publishes their events."""
    for item in items:
        item.status, item.resolved_at = status, now
    InboxItem.objects.filter(pk__in=[item.pk for item in items]).update(status=status, resolved_at=now)


def refuse_promised(transfer_ids: Collection[int]) -> None:
    """Raise DecisionFailedError if a refund promises money of these transfers back."""
    if any(one.reserved for one in returns_of(transfer_ids).values()):
        raise DecisionFailedError(PROMISED)


def _hold_late_items(checkout_id: int, item_id: int | None) -> list[InboxItem]:
    """Lock the late items, then read again: another decision may have changed them."""
    ids = {late.pk for late in _late_items(checkout_id, item_id)}
    held = InboxItem.objects.select_for_update(of=("self",), no_key=True)
    list(held.filter(pk__in=ids).order_by("pk"))
    return [late for late in _late_items(checkout_id, item_id) if late.pk in ids]


def standing_payments(checkout_id: int) -> QuerySet[Payment]:
    """Return a checkout's payments except those that a reorg removed and those that refunds send back as a whole."""
    return Payment.objects.filter(_STANDS, checkout=checkout_id)


def _transfer_ids(checkout_id: int, items: Sequence[InboxItem]) -> set[int]:
    ids = set(standing_payments(checkout_id).values_list("transfer_id", flat=True))
    return ids | {item.transfer_id for item in items}


def _lock_transfers(ids: Collection[int]) -> list[Transfer]:
    rows = Transfer.objects.select_for_update(of=("self",), no_key=True)
    return list(rows.filter(pk__in=ids).order_by("pk"))


def _lock_expired(checkout_id: int) -> Checkout:
    expired = Checkout.objects.locked().filter(pk=checkout_id).first()
    if expired is None or expired.status != CheckoutStatus.EXPIRED:
        raise DecisionFailedError("No expired or cancelled checkout matches this money.")
    if Checkout.objects.filter(replaces=expired).exists():
        raise DecisionFailedError("Late money was accepted for this checkout before.")
    return expired


def _refuse_unready(expired: Checkout, transfers: Sequence[Transfer], least: Decimal | None) -> bool:
    """Return whether the money falls short of the price. Raises DecisionFailedError if it does and that was not accepted."""
    # Otherwise a fork could leave a successor that cannot be paid.
    if any(transfer.state != TransferState.CONFIRMED for transfer in transfers):
        raise DecisionFailedError("Some of this money is not final yet. Wait until it is.")
    units = value_of(expired, map(money_of, transfers))
    is_short = units < needed_units(expired.amount)
    if is_short and least is None:
        raise DecisionFailedError("The money is not enough for the price.")
    if is_short and least is not None and units < to_units(least):
        raise DecisionFailedError(
            "Some of the money that was accepted is gone. Look at what is left, and decide again."
        )
    return is_short


def _succeed(expired: Checkout, now: datetime) -> Checkout:
    inherited = {name: getattr(expired, name) for name in _INHERITED}
    successor = Checkout.objects.create(
        public_id=new_id(f"chk_{Mode(expired.mode)}"),
        replaces=expired,
        # It is paid from the start, so it offers nothing.
        offers={},
        amount_received=Decimal(0),
        underpaid_reported=Decimal(0),
        deposit_nonce=secrets.token_bytes(32),
        expires_at=now,
        created_at=now,
        **inherited,
    )
    if expired.quote is not None:
        copy_quote(expired.quote, successor.pk)
    key = (expired.merchant_id, expired.mode, str(CheckoutStatus.PENDING))
    count(Counter({key: 1}))
    today = day_of(now)
    add_to_days([DayChange(expired.merchant_id, expired.mode, today, made=successor.pk)])
    return successor


def _hand_over(expired: Checkout, successor: Checkout, transfers: Sequence[Transfer], now: datetime) -> None:
    paid = set(standing_payments(expired.pk).values_list("transfer_id", flat=True))
    if not paid <= {transfer.pk for transfer in transfers}:
        # Rows that are not locked may change meanwhile.
        raise DecisionFailedError("More money arrived for it just now. Decide again.")
    handed = Payment.objects.filter(transfer__in=paid)
    handed.update(checkout=successor, handed_by=expired)
    fresh = [transfer for transfer in transfers if transfer.pk not in paid]
    reason = f"late for {expired.public_id}, accepted by a person"
    write_credits([(transfer, successor, reason) for transfer in fresh], now)
