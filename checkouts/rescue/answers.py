"""The answer to a buyer about a transaction: the recorded report with later changes, until the team has handled it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from django.db import transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.states import Mode
from checkouts.models import AmountReservation, BuyerReport, Checkout, Payment
from checkouts.payloads import remaining_units
from checkouts.rescue.rules import UNDECIDED, Case, CheckoutStanding, credited_case
from checkouts.rows import TransferRow
from checkouts.states import CheckoutStatus, RescueVerdict
from gateway.core.money import from_units, readable
from wallets.networks import chain_spec, known_chains, shown_address
from wallets.states import TransferState

UNREADABLE = "unreadable"
"""The value in the page's URL for a text that was not a transaction hash. No hash has this spelling."""

# Answers about credited money apply only while it is credited.
_CREDITED = {Case.CREDITED, Case.SHORT, Case.CONFIRMING}

_GOOD = {Case.CREDITED}
# The merchant decides, and finds the report by the checkout's number.
_MERCHANTS = {
    Case.FOUND_LATE,
    Case.LATE,
    Case.EXTRA,
    Case.UNNAMED,
    Case.WRONG_PLACE,
    Case.WRONG_NETWORK,
    Case.WRONG_TOKEN,
    Case.COIN,
    Case.UNKNOWN_TOKEN,
}
# We have the buyer's money, or it is on its way.
_PAID = _MERCHANTS | _CREDITED | {Case.READING, Case.IN_LINE}
_CALM = {Case.CONFIRMING, Case.READING, Case.IN_LINE, Case.UNREACHABLE, Case.NOT_FOUND}


@transaction.atomic
def close_report(report: BuyerReport, *, now: datetime, actor: Actor) -> bool:
    """Close a report; return whether it was open. No money moves.

    It reopens if its buyer asks again and the result differs.
    """
    if not BuyerReport.objects.filter(pk=report.pk, closed_at=None).update(closed_at=now):
        return False
    record(
        report.merchant,
        action="report.closed",
        actor=actor,
        object_id=str(report.pk),
        after={"checkout": report.checkout.public_id, "tx_hash": report.tx_hash},
        now=now,
    )
    return True


class RescueOutcome(StrEnum):
    """What the merchant decided about money that the page tells of."""

    WAITING = "waiting"
    # The merchant says so: a person noted it, before there were refunds that a chain confirms.
    SENT_BACK = "sent_back"
    # Final outflows on the chain sent all of it back, or a part.
    RETURNED = "returned"
    RETURNED_IN_PART = "returned_in_part"
    CLOSED = "closed"


_DONE = frozenset(RescueOutcome) - {RescueOutcome.WAITING}
# Those of any token that is known here.
_MOST_DECIMALS = 18


class Tone(StrEnum):
    """How the answer looks."""

    GOOD = "ok"
    CALM = "calm"
    WARNING = "warn"


@dataclass(frozen=True, slots=True)
class RescueAnswer:
    """An answer, ready to read. `case` is a `Case`; unknown fields are empty.

    `amount` has its token's symbol. `came_at` is the block time of late money. `silent` are the networks that did not
    answer. `outcome` is set if the merchant's inbox has the money as meant for this checkout. `less` is what money that names no
    checkout lacks of the exact amount that the page asked for.
    """

    case: str
    tx_hash: str = ""
    chain: str = ""
    chain_name: str = ""
    amount: str = ""
    recipient: str = ""
    came_at: datetime | None = None
    silent: tuple[str, ...] = ()
    seconds: int = 0
    url: str = ""
    may_ask_again: bool = False
    outcome: RescueOutcome | None = None
    less: str = ""

    @property
    def needs_merchant(self) -> bool:
        """Whether only the merchant can act on it."""
        return self.case in _MERCHANTS

    @property
    def forbids_paying(self) -> bool:
        """Return whether the answer forbids paying again; then the page must not ask for payment."""
        return self.case in _PAID and self.outcome not in _DONE

    @property
    def tone(self) -> Tone:
        """Return the answer's tone."""
        if self.case in _GOOD:
            return Tone.GOOD
        is_calm = self.case in _CALM or self.outcome in _DONE
        return Tone.CALM if is_calm else Tone.WARNING


def answer_for(
    found: str, checkout: Checkout, transfers: Sequence[TransferRow], told: Sequence[RescueAnswer] = ()
) -> RescueAnswer | None:
    """Return the answer that the page's address names; None if this checkout has no such report.

    `transfers` are those credited to it. What the page tells without being asked, `told`, is newer than a report of it.
    """
    if not found or "\x00" in found:
        return None
    report = BuyerReport.objects.filter(checkout=checkout, tx_hash=found).first()
    return _answer(report, checkout, transfers, told) if report is not None else None


def _answer(
    report: BuyerReport, checkout: Checkout, transfers: Sequence[TransferRow], told: Sequence[RescueAnswer]
) -> RescueAnswer | None:
    names = {report.tx_hash, report.details.get("tx_hash")}
    newer = next((answer for answer in told if answer.tx_hash in names), None)
    if newer is not None:
        return newer
    standing = [row for row in transfers if row.state != TransferState.ORPHANED]
    paid = next((row for row in standing if row.tx_hash in names), None)
    case = Case(report.details["case"])
    if paid is not None and paid.is_doubted:
        # Whether it is credited is not known now; the page says so.
        return None
    if checkout.status == CheckoutStatus.EXPIRED and _paid_its_successor(checkout, names):
        case = Case.CREDITED
    elif paid is not None:
        is_final = paid.state == TransferState.CONFIRMED
        case = credited_case(standing_of(checkout), is_final=is_final)
    elif case in _CREDITED:
        # A reorg removed it; the page already shows that.
        return None
    answer = shown(
        checkout,
        report.details,
        case=case,
        tx_hash=report.tx_hash,
        chain=paid.chain if paid else report.chain,
        may_ask_again=RescueVerdict(report.verdict) in UNDECIDED,
    )
    return replace(answer, less=_less(checkout, answer.amount)) if case == Case.UNNAMED else answer


def _less(checkout: Checkout, amount: str) -> str:
    """Return what an amount with its token lacks of the exact amount that the page asked for last, as when an exchange kept its fee.

    Empty if the page asked for none, or for less, or for more than twice as much.
    """
    number, _, token = amount.partition(" ")
    asked = AmountReservation.objects.filter(checkout=checkout).order_by("-pk").first()
    if asked is None or not number:
        return ""
    sent, exact = Decimal(number.replace(",", "")), asked.price + from_units(asked.suffix)
    return f"{readable(exact - sent, _MOST_DECIMALS)} {token}" if sent < exact <= 2 * sent else ""


def _paid_its_successor(expired: Checkout, hashes: set[str | None]) -> bool:
    """Return whether the merchant accepted a transaction's money for an expired checkout."""
    taken = Payment.objects.filter(checkout__replaces=expired, transfer__tx_hash__in=hashes - {None})
    return taken.exclude(transfer__state=TransferState.ORPHANED).exists()


def standing_of(checkout: Checkout) -> CheckoutStanding:
    """Return a checkout's state as the rescue rules need it."""
    return CheckoutStanding(
        status=CheckoutStatus(checkout.status),
        missing_units=remaining_units(checkout),
        created_at=checkout.created_at,
        expires_at=checkout.expires_at,
        is_cancelled=checkout.cancelled_at is not None,
    )


def shown(
    checkout: Checkout,
    details: Mapping[str, Any],
    *,
    case: Case,
    tx_hash: str,
    chain: str,
    may_ask_again: bool = False,
    outcome: RescueOutcome | None = None,
) -> RescueAnswer:
    """Return the answer about a transaction, from the details that `checkouts.rescue.service` gives of its finding."""
    late_by = details.get("late_seconds")
    spec = known_chains().get(chain)
    is_real = checkout.mode == Mode.LIVE
    url = spec.transaction_url(tx_hash) if spec and is_real else None
    return RescueAnswer(
        case=case,
        tx_hash=tx_hash,
        chain=chain,
        chain_name=spec.title if spec else "",
        amount=details.get("amount", ""),
        recipient=shown_address(details.get("recipient", "")),
        came_at=checkout.expires_at + timedelta(seconds=late_by) if late_by else None,
        silent=tuple(chain_spec(name).title for name in details.get("silent", [])),
        seconds=spec.estimated_confirm_seconds if spec else 0,
        url=url or "",
        may_ask_again=may_ask_again,
        outcome=outcome,
    )
