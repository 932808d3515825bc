"""Looks up a buyer's transaction and records the result for the merchant. No money moves here.

Only this checkout's records are used; everything else is judged by public chain data.
"""

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

from django.db import transaction
from django.db.models import Q

from accounts.states import Mode
from checkouts.models import BuyerReport, Checkout, Payment
from checkouts.rescue.answers import standing_of
from checkouts.rescue.facts import Books, from_books, from_chain
from checkouts.rescue.rules import UNDECIDED, Case, Finding, Standing, find
from checkouts.selectors import other_tries
from checkouts.states import RescueVerdict
from gateway.core.api.errors import RateLimitError
from gateway.core.money import readable_units
from wallets.lookup import Lookup, ask_again, is_imitation_on, look_up, recorded, spellings
from wallets.models import Transfer
from wallets.networks import decimals_of
from wallets.states import TransferState

MOST_REPORTS: Final = 20
"""Per checkout: more transactions than a buyer pays with."""

# A double click or a reload asks no node again.
_SOON: Final = timedelta(seconds=5)
_MOST_AT_ONCE: Final = 2
_BUSY_SECONDS: Final = 5
_FULL_SECONDS: Final = 3_600
# A node may take seconds, and most of a process's threads must stay free for payments. `wallets.lookup` limits how often each
# chain's nodes are asked.
_places = threading.BoundedSemaphore(_MOST_AT_ONCE)
# These cases, given for a payment of the same buyer's other try, would make people pay twice.
_NOT_OF_THIS_ONE: Final = frozenset({Case.UNNAMED, Case.EARLIER, Case.OTHER_ADDRESS, Case.UNREACHABLE, Case.NOT_FOUND})


def look_into(checkout: Checkout, text: str, *, now: datetime) -> BuyerReport:
    """Look up the transaction that a text names, record the result, and return the report.

    The report is another checkout's if the transaction paid that one, and one of the two renews the other. Nodes are asked
    unless the answer is known already, and no transaction is open meanwhile. Raises UnreadableHashError, and RateLimitError
    if this process runs too many look-ups or the checkout has its MOST_REPORTS.
    """
    question = _Question(text)
    tries = [checkout, *other_tries(checkout)]
    known = _known(tries, question)
    if known is not None and not _is_due(known, now):
        return known
    if known is None:
        _check_room(checkout)
    meant, finding, silent = _find(tries, question, now)
    return _file(meant, question.hashes, _details(finding, silent), finding, now)


class _Question:
    """The buyer's question. Nodes are asked once for all checkouts that it is compared with."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.named = spellings(text)
        self.hashes = set(self.named.values())

    @cached_property
    def looked(self) -> Lookup:
        with _place():
            return look_up(self._text)


def _known(tries: Sequence[Checkout], question: _Question) -> BuyerReport | None:
    """Return the recorded report: of the first try it was for, else of the checkout itself."""
    own = _filed(tries[0], question.hashes)
    others = (_filed(each, question.hashes) for each in tries[1:])
    told = (report for report in (own, *others) if report is not None)
    return next((report for report in told if not _is_elsewhere(report)), own)


def _is_elsewhere(report: BuyerReport) -> bool:
    return Case(report.details["case"]) in _NOT_OF_THIS_ONE


def _filed(checkout: Checkout, hashes: Collection[str]) -> BuyerReport | None:
    reports = BuyerReport.objects.filter(checkout=checkout, tx_hash__in=hashes)
    return reports.select_related("checkout").order_by("pk").first()


def _is_due(report: BuyerReport, now: datetime) -> bool:
    is_open = RescueVerdict(report.verdict) in UNDECIDED
    return is_open and now - report.looked_at >= _SOON


def _check_room(checkout: Checkout) -> None:
    if BuyerReport.objects.filter(checkout=checkout).count() >= MOST_REPORTS:
        raise RateLimitError(_FULL_SECONDS)


def _find(tries: Sequence[Checkout], question: _Question, now: datetime) -> tuple[Checkout, Finding, Sequence[str]]:
    """Return the try that the transaction paid, its finding, and the chains that did not answer."""
    told = []
    for each in tries:
        finding, silent = _find_one(each, question, now)
        told.append((each, finding, silent))
        if finding.case not in _NOT_OF_THIS_ONE:
            return told[-1]
    return told[0]


def _find_one(checkout: Checkout, question: _Question, now: datetime) -> tuple[Finding, Sequence[str]]:
    books = _books(checkout, _recorded(checkout, question))
    if books.is_about_us or checkout.mode == Mode.TEST:
        known = [each for each in from_books(checkout, books) if each.is_ours]
        return find(known, _standing(checkout), is_all=True), ()
    looked = question.looked
    return _judge(checkout, looked, now), looked.unasked


def _judge(checkout: Checkout, looked: Lookup, now: datetime) -> Finding:
    transactions = [from_chain(checkout, found, _books(checkout, recorded(found))) for found in looked.transactions]
    finding = find(transactions, _standing(checkout), is_all=not looked.unasked)
    if finding.is_unread:
        for found in looked.transactions:
            ask_again(found, now=now)
    return _named(finding)


def _named(finding: Finding) -> Finding:
    """Return the finding, of an unlisted token as a fake only if it bears a genuine one's name."""
    movement, transaction_ = finding.movement, finding.transaction
    if finding.case is not Case.UNKNOWN_TOKEN or not movement or not transaction_:
        return finding
    is_fake = is_imitation_on(transaction_.chain, movement.token_address)
    return replace(finding, case=Case.FAKE_TOKEN) if is_fake else finding


@contextmanager
def _place() -> Iterator[None]:
    if not _places.acquire(blocking=False):
        raise RateLimitError(_BUSY_SECONDS)
    try:
        yield
    finally:
        _places.release()


def _recorded(checkout: Checkout, question: _Question) -> list[Transfer]:
    """Return the recorded transfers with the hash as each chain spells it, in this checkout's mode."""
    named = question.named
    rows = Transfer.objects.filter(chain__in=list(named), tx_hash__in=question.hashes, mode=checkout.mode)
    return [row for row in rows if row.tx_hash == named[row.chain]]


def _books(checkout: Checkout, rows: Sequence[Transfer]) -> Books:
    """Return the merchant's records of the transaction, and which belong to this checkout."""
    own = [row for row in rows if row.merchant_id == checkout.merchant_id and row.state != TransferState.ORPHANED]
    ids = [row.pk for row in own]
    its_own = Q(checkout=checkout) | Q(handed_by=checkout)
    paid = Payment.objects.filter(its_own, transfer__in=ids)
    meant = checkout.inbox_items.filter(transfer__in=ids)
    return Books(
        transfers=own,
        credited=frozenset(paid.values_list("transfer_id", flat=True)),
        meant=frozenset(meant.values_list("transfer_id", flat=True)),
    )


def _standing(checkout: Checkout) -> Standing:
    # Read again: it may have been paid while nodes were asked.
    return standing_of(Checkout.objects.get(pk=checkout.pk))


def _details(finding: Finding, silent: Sequence[str]) -> dict[str, Any]:
    """Return the report's details. Only listed tokens have amounts: others have unknown decimals."""
    details: dict[str, Any] = {"case": finding.case, "silent": list(silent)}
    movement = finding.movement
    if movement is not None:
        details |= {"recipient": movement.recipient, "tx_hash": movement.tx_hash}
        if movement.token:
            chain = finding.transaction.chain if finding.transaction else ""
            amount = readable_units(movement.units, decimals_of(chain, movement.token))
            details["amount"] = f"{amount} {movement.token}"
    if finding.late_by is not None:
        details["late_seconds"] = int(finding.late_by.total_seconds())
    return details


def _lock(checkout: Checkout) -> None:
    """Lock the checkout, so that double clicks make one report and the limit holds."""
    Checkout.objects.select_for_update(no_key=True).get(pk=checkout.pk)


@transaction.atomic
def _file(
    checkout: Checkout, hashes: Collection[str], details: dict[str, Any], finding: Finding, now: datetime
) -> BuyerReport:
    _lock(checkout)
    report = _filed(checkout, hashes)
    if report is None:
        _check_room(checkout)
        report = BuyerReport(merchant_id=checkout.merchant_id, mode=checkout.mode, checkout=checkout, reported_at=now)
    elif report.verdict != finding.verdict:
        report.closed_at = None
    found = finding.transaction
    # If no chain has it, the most common spelling: with 0x, which makes it the longest.
    report.tx_hash = found.tx_hash if found else max(hashes, key=len)
    report.chain = found.chain if found else ""
    report.verdict = finding.verdict
    report.details = details
    report.looked_at = now
    report.save()
    return report
