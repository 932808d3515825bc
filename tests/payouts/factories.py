"""Refunds and payouts for tests, the money that they send back, and the outflows that pay them."""

import secrets
from datetime import timedelta
from typing import Any

from accounts.audit.actors import Actor
from accounts.models import Merchant, User
from accounts.states import Mode, Role
from checkouts.models import Checkout
from gateway.core.money import from_units
from payouts.approvals.service import approve_payout
from payouts.following.service import follow_movements
from payouts.lifecycle.service import Requested, Terms, request_payout, request_refund
from payouts.lifecycle.sources import Source
from payouts.models import Payout, PayoutBatch
from payouts.states import Method, PayoutStatus
from tests.checkouts.watcher import DOLLAR, pay
from tests.dashboard.people import make_member
from tests.factories import NOON, make_checkout, make_merchant
from tests.wallets.days import make_movement, make_watched
from wallets.models import TransferReturn, WatchedMovement
from wallets.states import Direction, TransferState
from wallets.transfers.movements import queue_movements

BUYER = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
OTHER_BUYER = "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955"
USDC: dict[str, Any] = {"chain": "base", "token": "USDC"}
SENT = NOON + timedelta(minutes=5)


def make_paid(merchant: Merchant | None = None, units: int = 25 * DOLLAR) -> Checkout:
    """A checkout of 25 USD that one final transfer paid."""
    checkout = make_checkout(merchant)
    pay(checkout, units)
    return checkout


def refund_of(checkout: Checkout, units: int | None = None, **values: Any) -> Requested:
    """Ask for a refund of a checkout, or of one `transfer`, of all that is left of it by default."""
    who: dict[str, Any] = {name: values.pop(name) for name in ("now", "actor") if name in values}
    one = values.pop("transfer", None)
    return request_refund(
        checkout.merchant,
        mode=Mode(checkout.mode),
        source=Source(chain=one.chain, tx_hash=one.tx_hash, position=one.position)
        if one
        else Source(checkout=checkout.public_id),
        amount=None if units is None else from_units(units),
        terms=Terms(**values),
        **({"now": NOON} | who),
    )


def make_payout(merchant: Merchant | None = None, units: int = 5 * DOLLAR, **values: Any) -> Payout:
    """A payout of USDC on Base to a buyer, which waits for approval."""
    terms = Terms(**({"address": BUYER} | USDC | values))
    return request_payout(
        merchant or make_merchant(), mode=Mode.LIVE, amount=from_units(units), terms=terms, now=NOON
    ).payout


def make_approver(merchant: Merchant, role: Role = Role.OWNER) -> User:
    """A person who may approve the merchant's payouts."""
    return make_member(merchant, role)


def approved(payout: Payout, person: User | None = None) -> Payout:
    """The payout, approved by a person."""
    who = person or make_approver(payout.merchant)
    return approve_payout(payout, revision=payout.revision, actor=Actor(who), now=NOON)


def make_batch(merchant: Merchant) -> PayoutBatch:
    """An open batch of a watched wallet on Base."""
    return PayoutBatch.objects.create(
        public_id=f"pob_live_{secrets.token_hex(8)}",
        merchant=merchant,
        mode=Mode.LIVE,
        wallet=make_watched(merchant),
        method=Method.LIST,
        digest=secrets.token_bytes(32),
        created_by=make_approver(merchant),
        created_at=NOON,
        **USDC,
    )


def outflow_for(payout: Payout, units: int | None = None, **values: Any) -> WatchedMovement:
    """A final outflow of a watched wallet of the merchant to the payout's address."""
    sent = {"direction": Direction.OUT, "counterparty": payout.address, "token": payout.token} | values
    wallet = make_watched(payout.merchant, mode=payout.mode, chain=payout.chain)
    return make_movement(wallet, int(payout.units) if units is None else units, **sent)


def pay_out(payout: Payout) -> WatchedMovement:
    """Pay an approved payout by a final outflow, at `SENT`."""
    movement = outflow_for(payout)
    queue_movements([movement.pk], now=SENT)
    follow_movements(now=SENT)
    return movement


def take_back(movement: WatchedMovement) -> None:
    """Let a reorg remove an outflow, at `SENT`."""
    rows = WatchedMovement.objects.filter(pk=movement.pk)
    rows.update(state=TransferState.ORPHANED, orphaned_at=SENT, queued_at=SENT)
    follow_movements(now=SENT)


def promised(checkout: Checkout) -> tuple[int, int]:
    """What is reserved and returned of a checkout's transfers."""
    rows = TransferReturn.objects.filter(transfer__payment__checkout=checkout)
    return sum(int(row.reserved) for row in rows), sum(int(row.returned) for row in rows)


def status_of(payout: Payout) -> PayoutStatus:
    """The status that the database has now."""
    return PayoutStatus(Payout.objects.values_list("status", flat=True).get(pk=payout.pk))
