"""Rules for transfers to deposit addresses: from facts to a decision with its reason.

Pure: no database, no clock. Transfers to deposit addresses are decided here, by the address alone. Transfers to a
merchant's own wallet are identified by amount, in `checkouts.attribution.exact_rules`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from checkouts.amounts import DUST_UNITS
from checkouts.states import GRACE, CheckoutStatus, InboxReason

BLOCK_SECOND: Final = timedelta(seconds=1)
"""Blocks tell their time in whole seconds."""


@dataclass(frozen=True, slots=True)
class TransferFacts:
    """The facts of a transfer. `accepted` is False for other genuine tokens, which the watcher also reports;
    their `units` are cut to six decimals.

    `labels` are texts that the payer attached; they may be anything.
    """

    chain: str
    token: str
    accepted: bool
    units: int
    block_time: datetime
    recipient: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckoutFacts:
    """The facts of a checkout that attribution needs. `offers` maps a chain to its tokens and the address to pay."""

    status: CheckoutStatus
    offers: Mapping[str, Any]
    expires_at: datetime
    is_cancelled: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Credit:
    """The transfer pays the checkout."""

    reason: str


@dataclass(frozen=True, slots=True)
class ToInbox:
    """No rule may credit the transfer; a person decides."""

    reason: InboxReason
    explanation: str


Decision = Credit | ToInbox


Place = Literal["address", "wallet"]
"""The destination of an offer's money: the checkout's own address, or the merchant's wallet."""


def decide_deposit(transfer: TransferFacts, checkout: CheckoutFacts) -> Decision:
    """Judge a transfer that arrived at a checkout's own address."""
    return (
        _flushable(unfit(transfer))
        or not_offered(transfer, checkout, place="address")
        or not_in_time(transfer, checkout)
        or Credit("sent to this checkout's own address")
    )


def _flushable(refusal: ToInbox | None) -> ToInbox | None:
    """Add to another token's refusal that its forwarder sends on whatever token it holds."""
    if refusal is None or refusal.reason != InboxReason.WRONG_TOKEN:
        return refusal
    how = "flush its deposit address to get it into your wallet, as the guide of the inbox shows"
    return replace(refusal, explanation=f"{refusal.explanation}; {how}")


def is_dust(transfer: TransferFacts) -> bool:
    """Whether it is less than a cent."""
    return transfer.units < DUST_UNITS


def unfit(transfer: TransferFacts) -> ToInbox | None:
    """Return why the transfer can pay no checkout at all; None if it can."""
    if is_dust(transfer):
        return ToInbox(InboxReason.DUST, "less than a cent; transfers this small are never matched")
    if not transfer.accepted:
        return ToInbox(InboxReason.WRONG_TOKEN, f"{transfer.token} on {transfer.chain} is not a token we accept")
    return None


def not_offered(transfer: TransferFacts, checkout: CheckoutFacts, *, place: Place) -> ToInbox | None:
    """Return why the transfer does not match what the checkout asked for; None if it does."""
    if is_offered(transfer, checkout, place=place):
        return None
    offer = checkout.offers.get(transfer.chain)
    if offer is None or transfer.token not in offer["tokens"]:
        found = f"{transfer.token} on {transfer.chain} was not offered for this checkout"
    elif place == "address":
        found = f"sent on {transfer.chain} to this checkout's address for another chain"
    else:
        found = f"sent on {transfer.chain} to a wallet that this checkout does not name"
    return ToInbox(InboxReason.WRONG_NETWORK, found)


def is_offered(transfer: TransferFacts, checkout: CheckoutFacts, *, place: Place) -> bool:
    """Return whether the checkout offered this chain and token at the transfer's destination."""
    offer = checkout.offers.get(transfer.chain)
    return offer is not None and transfer.token in offer["tokens"] and transfer.recipient == offer.get(place)


def not_in_time(transfer: TransferFacts, checkout: CheckoutFacts) -> ToInbox | None:
    """Return why the transfer came too late for the checkout; None if it was in time."""
    reason = lateness(
        transfer.block_time, status=checkout.status, expires_at=checkout.expires_at, is_cancelled=checkout.is_cancelled
    )
    if reason is None:
        return None
    found = _LATENESS[reason]
    if reason is InboxReason.LATE and not checkout.is_cancelled:
        late_by = transfer.block_time - checkout.expires_at
        found = f"arrived {int(late_by.total_seconds())} s after the checkout expired"
    return ToInbox(reason, found)


_LATENESS: Final = {
    InboxReason.EXTRA: "the checkout was paid already",
    InboxReason.LATE: "arrived after the checkout was cancelled",
    InboxReason.LATE_OUTAGE: "sent in time, but we could not read the chain before the checkout expired",
}


def lateness(
    block_time: datetime, *, status: CheckoutStatus, expires_at: datetime, is_cancelled: bool
) -> InboxReason | None:
    """Return as what money of this block is too late for a checkout; None if it is in time."""
    if status == CheckoutStatus.COMPLETED:
        return InboxReason.EXTRA
    if is_cancelled or block_time - expires_at > GRACE:
        return InboxReason.LATE
    return InboxReason.LATE_OUTAGE if status == CheckoutStatus.EXPIRED else None


def is_older(block_time: datetime, created_at: datetime, *, named: bool) -> bool:
    """Return whether a block is older than a checkout.

    Blocks count whole seconds, so one of the checkout's own second is not. Money that names the checkout has a minute, for
    clocks that differ.
    """
    if named:
        return created_at - block_time > GRACE
    return created_at - block_time >= BLOCK_SECOND
