"""Looks up a buyer's transaction and records the result for the merchant. No money moves here."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from django.db import transaction
from django.db.models import Q

from accounts.states import Mode
from checkouts.models import BuyerReport, Checkout, Payment
from checkouts.pricing import is_due_on
from checkouts.rescue.answers import standing_of
from checkouts.rescue.rules import (
    UNDECIDED,
    Case,
    CheckoutStanding,
    Finding,
    Record,
    RescueMovement,
    RescueTransaction,
    Whose,
    find,
)
from checkouts.selectors import other_tries
from checkouts.states import RescueVerdict
from gateway.core.api.errors import RateLimitError
from gateway.core.web.numbers import readable_units
from wallets.chains.base import PARTS_FROM, FoundMovement, FoundTransaction, TokenTransfer
from wallets.chains.family import ChainFamily
from wallets.lookup import Lookup, ask_again, is_imitation_on, look_up, recorded, spellings
from wallets.models import Transfer
from wallets.networks import chain_spec, decimals_of, is_accepted
from wallets.states import TransferState

MOST_REPORTS: Final = 20
"""The maximum of reports per checkout: more transactions than a buyer pays with."""

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


@dataclass(frozen=True, slots=True)
class Books:
    """The merchant's recorded transfers of a transaction, and the ids of those credited to, or meant for, one checkout."""

    transfers: Sequence[Transfer]
    credited: frozenset[int]
    meant: frozenset[int]

    @property
    def is_about_us(self) -> bool:
        """Return whether these records suffice to answer this checkout's buyer."""
        return bool(self.credited or self.meant)

    def record(self, transfer: Transfer) -> Record:
        """Return the record of one transfer."""
        return Record(
            is_credited=transfer.pk in self.credited,
            is_meant=transfer.pk in self.meant,
            is_decided=transfer.decided_at is not None,
            is_final=transfer.state == TransferState.CONFIRMED,
        )


def from_books(checkout: Checkout, books: Books) -> list[RescueTransaction]:
    """Return the recorded transactions, without asking any chain."""
    rows = sorted(books.transfers, key=attrgetter("chain", "tx_hash", "position"))
    return [_recorded(checkout, list(group), books) for _, group in groupby(rows, key=attrgetter("chain", "tx_hash"))]


def _recorded(checkout: Checkout, rows: Sequence[Transfer], books: Books) -> RescueTransaction:
    first = rows[0]
    family = chain_spec(first.chain).family
    offers = _Offers(checkout)
    return RescueTransaction(
        chain=first.chain,
        tx_hash=first.tx_hash,
        succeeded=True,
        block_time=first.block_time,
        movements=[
            offers.movement(
                first.chain,
                token=row.token,
                units=int(row.units),
                recipient=row.recipient,
                key=family.address_key(row.recipient),
                tx_hash=row.tx_hash,
                record=books.record(row),
            )
            for row in rows
        ],
    )


def from_chain(checkout: Checkout, found: FoundTransaction, books: Books) -> RescueTransaction:
    """Return a node's answer, joined with our records."""
    offers = _Offers(checkout)

    def judged(movement: FoundMovement, tx_hash: str, row: Transfer | None) -> RescueMovement:
        return offers.movement(
            found.chain,
            token=movement.token or "",
            units=movement.units,
            recipient=movement.recipient,
            key=movement.recipient_key,
            token_address=movement.token_address,
            is_coin=not movement.token_address,
            tx_hash=tx_hash,
            record=books.record(row) if row is not None else None,
        )

    return RescueTransaction(
        chain=found.chain,
        tx_hash=found.tx_hash,
        succeeded=found.succeeded,
        block_time=found.block_time,
        movements=[judged(*matched) for matched in matched_rows(found, books)],
        to_oneself=[judged(one, found.tx_hash, None) for one in found.to_oneself],
        is_whole=found.is_whole,
    )


def matched_rows(found: FoundTransaction, books: Books) -> Iterator[tuple[FoundMovement, str, Transfer | None]]:
    """Yield each movement with the hash under which a watcher records it, and its row.

    A TON transaction causes transfers with their own hashes, in the order of the movements; so the money identifies each.
    """
    parts = list(found.transfers)
    for movement in found.movements:
        alike = (part for part in parts if _money(part) == _money(movement))
        tx_hash = found.tx_hash
        if part := next(alike, None):
            parts.remove(part)
            tx_hash = part.tx_hash
        yield movement, tx_hash, _row(movement, tx_hash, books)


def _money(moved: FoundMovement | TokenTransfer) -> tuple[str, str | None, int, int]:
    return moved.recipient, moved.token, moved.units, moved.position


def _row(movement: FoundMovement, tx_hash: str, books: Books) -> Transfer | None:
    """Return the movement's row, or that of the sum that an earlier release recorded it in."""
    rows = {
        row.position: row
        for row in books.transfers
        if (row.tx_hash, row.recipient, row.token) == (tx_hash, movement.recipient, movement.token)
    }
    is_part = movement.position >= PARTS_FROM
    sums = (row for at, row in rows.items() if (at >= PARTS_FROM) != is_part)
    return rows.get(movement.position) or next(sums, None)


class _Offers:
    """A checkout's offers, by address."""

    def __init__(self, checkout: Checkout) -> None:
        self._offers = checkout.offers
        self._checkout = checkout
        self._places = {chain: _key(chain, offer) for chain, offer in checkout.offers.items()}
        self._owned = _owned(checkout.offers)

    def movement(
        self,
        chain: str,
        *,
        token: str,
        units: int,
        recipient: str,
        key: bytes,
        tx_hash: str,
        record: Record | None,
        is_coin: bool = False,
        token_address: str = "",
    ) -> RescueMovement:
        """Return a movement as this checkout sees it."""
        offer = self._offers.get(chain)
        return RescueMovement(
            token=token,
            units=units,
            recipient=recipient,
            whose=self._owned.get((chain_spec(chain).family, key), Whose.OTHER),
            is_coin=is_coin,
            token_address="" if token else token_address,
            is_accepted=bool(token) and (is_accepted(chain, token) or is_due_on(self._checkout, chain, token)),
            takes_chain=offer is not None,
            takes_token=offer is not None and token in offer["tokens"],
            is_in_place=self._places.get(chain) == key,
            tx_hash=tx_hash,
            record=record,
        )


def _owned(offers: Mapping[str, Mapping[str, Any]]) -> dict[tuple[ChainFamily, bytes], Whose]:
    """Return the checkout's addresses. An EVM address is the same on each EVM chain, offered there or not."""
    found: dict[tuple[ChainFamily, bytes], Whose] = {}
    for chain, offer in offers.items():
        place = chain_spec(chain).family, _key(chain, offer)
        if offer["address"] is not None:
            found[place] = Whose.CHECKOUT
        else:
            found.setdefault(place, Whose.MERCHANT)
    return found


def _key(chain: str, offer: Mapping[str, Any]) -> bytes:
    address = offer["address"] or offer["wallet"]
    return chain_spec(chain).family.address_key(address)


def look_into(checkout: Checkout, text: str, *, now: datetime) -> BuyerReport:
    """Look up the transaction that a text names, record the result, and return the report.

    The report is another checkout's if the transaction paid that one, and one of the two renews the other. Nodes are asked
    unless the answer is known already, and no transaction is open meanwhile. Raises UnreadableHashError, and RateLimitError
    if this process runs too many look-ups or the checkout has its MOST_REPORTS.
    """
    question = _BuyerQuestion(text)
    tries = [checkout, *other_tries(checkout)]
    known = _known(tries, question)
    if known is not None and not _is_due(known, now):
        return known
    if known is None:
        _check_room(checkout)
    meant, finding, silent = _find(tries, question, now)
    return _file(meant, question.hashes, details_of(finding, silent), finding, now)


def look_up_in_turn(text: str, *, chain: str = "", asker: str = "") -> Lookup:
    """Ask the chains' nodes, as `look_up` does. Raises UnreadableHashError, and RateLimitError if this process runs too many look-ups."""
    with _place():
        return look_up(text, chain=chain, asker=asker)


class _BuyerQuestion:
    """The buyer's question. Nodes are asked once for all checkouts that it is compared with."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.named = spellings(text)
        self.hashes = set(self.named.values())

    @cached_property
    def looked(self) -> Lookup:
        return look_up_in_turn(self._text)


def _known(tries: Sequence[Checkout], question: _BuyerQuestion) -> BuyerReport | None:
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


def _find(
    tries: Sequence[Checkout], question: _BuyerQuestion, now: datetime
) -> tuple[Checkout, Finding, Sequence[str]]:
    """Return the try that the transaction paid, its finding, and the chains that did not answer."""
    told = []
    for each in tries:
        finding, silent = _find_one(each, question, now)
        told.append((each, finding, silent))
        if finding.case not in _NOT_OF_THIS_ONE:
            return told[-1]
    return told[0]


def _find_one(checkout: Checkout, question: _BuyerQuestion, now: datetime) -> tuple[Finding, Sequence[str]]:
    books = _books(checkout, _transfers_of(checkout, question))
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
    """Return the finding; an unlisted token is called a fake only if it bears a genuine token's name."""
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


def _transfers_of(checkout: Checkout, question: _BuyerQuestion) -> list[Transfer]:
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


def _standing(checkout: Checkout) -> CheckoutStanding:
    # Read again: it may have been paid while nodes were asked.
    return standing_of(Checkout.objects.get(pk=checkout.pk))


def details_of(finding: Finding, silent: Sequence[str] = ()) -> dict[str, Any]:
    """Return a finding as reports keep it. Only listed tokens have amounts: others have unknown decimals."""
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
