"""Money in the inbox, and people who decide about it."""

from datetime import timedelta
from typing import Any

from django.db import transaction

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.inbox.service import decide_item
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, InboxDecision, InboxItem
from checkouts.states import InboxAct, InboxReason
from gateway.core.money import from_units
from payouts.following.service import follow_movements
from payouts.lifecycle.service import Terms, request_refund
from payouts.lifecycle.sources import Source
from payouts.models import Payout
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, pay
from tests.factories import make_checkout, make_user
from tests.payouts.factories import BUYER, approved, outflow_for
from wallets.models import Transfer
from wallets.transfers.movements import queue_movements

LATER = SOON + timedelta(hours=1)
DONE = LATER + UNDO_SPAN
REFUND = "0x" + "fe" * 32


def extra_item(units: int = 25 * DOLLAR, merchant: Merchant | None = None, **overrides: Any) -> InboxItem:
    """An item about money that came for a checkout that was paid already."""
    paid = make_checkout(merchant, **overrides)
    pay(paid)
    pay(paid, units)
    return InboxItem.objects.get(reason=InboxReason.EXTRA, checkout=paid)


def late_item(
    *, before: int = 0, late: int = 25 * DOLLAR, merchant: Merchant | None = None, **overrides: Any
) -> InboxItem:
    """An item about money that came after a checkout of 25 USD expired, `before` of it having come in time."""
    checkout = make_checkout(merchant, **overrides)
    if before:
        pay(checkout, before)
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=LATER)
    late_for(checkout, late)
    return InboxItem.objects.get(reason=InboxReason.LATE, checkout=checkout)


def late_for(checkout: Checkout, units: int, *, confirmed: bool = True) -> Transfer:
    """More money that comes for an expired checkout."""
    watcher = Watcher(height=500 + Transfer.objects.count())
    transfer = watcher.sees(checkout, units, at=LATER)
    if confirmed:
        watcher.confirms(transfer, now=LATER)
    attribute(now=LATER)
    return transfer


def other_checkout(item: InboxItem, **overrides: Any) -> Checkout:
    """Another checkout of the item's merchant."""
    return make_checkout(item.merchant, **overrides)


def decide(item: InboxItem, act: InboxAct, *, actor: Actor | None = None, **more: Any) -> InboxDecision:
    """Decide at `LATER`, to take effect at `DONE`."""
    return decide_item(item, act=act, now=LATER, actor=actor or Actor(make_user()), **more)


def ask_back(item: InboxItem, units: int | None = None, **terms: Any) -> Payout:
    """Ask at `LATER` for a refund of an item's money, all that is left of it by default, to the buyer's address."""
    transfer = item.transfer
    source = Source(chain=transfer.chain, tx_hash=transfer.tx_hash, position=transfer.position)
    values = {"address": BUYER} | terms
    amount = None if units is None else from_units(units)
    asked = request_refund(
        item.merchant, mode=Mode(item.mode), source=source, amount=amount, terms=Terms(**values), now=LATER
    )
    return asked.payout


def give_back(item: InboxItem, units: int | None = None) -> str:
    """Send an item's money back, finally, at `DONE`; return the hash of the transaction that did."""
    payout = approved(ask_back(item, units))
    movement = outflow_for(payout, block_time=LATER)
    queue_movements([movement.pk], now=DONE)
    follow_movements(now=DONE)
    return str(movement.tx_hash)
