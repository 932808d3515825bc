"""Whose money is it? A transfer and the facts it is judged by go in, a decision with its reason comes out.

Pure: no database, no clock. Transfers to deposit addresses are decided here by the address alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from checkouts.pricing import DUST_UNITS
from checkouts.states import CheckoutStatus, InboxReason

# A block's own time may run a little ahead; the contract lets a minute pass.
GRACE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class TransferFacts:
    """What is known of a transfer. `accepted` tells our tokens from look-alikes the watcher also reports."""

    chain: str
    token: str
    accepted: bool
    units: int
    block_time: datetime
    recipient: str


@dataclass(frozen=True, slots=True)
class CheckoutFacts:
    """What attribution asks of a checkout. `offers` maps a chain to its tokens and address."""

    status: CheckoutStatus
    offers: Mapping[str, Any]
    expires_at: datetime


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


def decide_deposit(transfer: TransferFacts, checkout: CheckoutFacts) -> Decision:
    """Judge a transfer that arrived at a checkout's own address."""
    return (
        _not_what_was_offered(transfer, checkout)
        or _not_in_time(transfer, checkout)
        or Credit("sent to this checkout's own address")
    )


def _not_what_was_offered(
    transfer: TransferFacts, checkout: CheckoutFacts
) -> ToInbox | None:
    if transfer.units < DUST_UNITS:
        return ToInbox(
            InboxReason.DUST, "less than a cent; transfers this small are never matched"
        )
    if not transfer.accepted:
        return ToInbox(
            InboxReason.WRONG_TOKEN,
            f"{transfer.token} on {transfer.chain} is not a token we accept",
        )
    offer = checkout.offers.get(transfer.chain)
    if offer is None or transfer.token not in offer["tokens"]:
        return ToInbox(
            InboxReason.WRONG_NETWORK,
            f"{transfer.token} on {transfer.chain} was not offered for this checkout",
        )
    if transfer.recipient != offer["address"]:
        return ToInbox(
            InboxReason.WRONG_NETWORK,
            f"sent on {transfer.chain} to this checkout's address for another chain",
        )
    return None


def _not_in_time(transfer: TransferFacts, checkout: CheckoutFacts) -> ToInbox | None:
    late_by = transfer.block_time - checkout.expires_at
    if checkout.status == CheckoutStatus.COMPLETED:
        return ToInbox(InboxReason.EXTRA, "the checkout was paid already")
    if late_by > GRACE:
        return ToInbox(
            InboxReason.LATE,
            f"arrived {_seconds(late_by)} s after the checkout expired",
        )
    if checkout.status == CheckoutStatus.EXPIRED:
        return ToInbox(
            InboxReason.LATE_OUTAGE,
            "sent in time, but we could not read the chain before the checkout expired",
        )
    return None


def _seconds(span: timedelta) -> int:
    return int(span.total_seconds())
