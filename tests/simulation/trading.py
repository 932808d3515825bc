"""Letting a market happen: payments in order of time, each judged by the product's rules and held against the truth."""

import heapq
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from enum import IntEnum
from random import Random
from typing import Final

from checkouts.attribution.deposit_rules import Credit, TransferFacts
from checkouts.attribution.exact_rules import Candidate, Known, Reserved, Verdict, decide_exact
from checkouts.states import CheckoutStatus
from tests.simulation.market import COOLING, LIFETIME, MINUTE, Market, Sale, Sent, Shop, Tally, Way, money

GRACE: Final = timedelta(seconds=60)
SPAN: Final = timedelta(minutes=30)


class Evidence(IntEnum):
    """How strongly an amount speaks for a checkout."""

    NONE = 0
    PRICE = 1
    ROUND = 2
    DIGITS = 3
    EXACT = 4


def evidence(transfer: TransferFacts, checkout: Candidate) -> Evidence:
    """Return how strongly the amount speaks for the checkout, whatever the time."""
    grades = [_by_digits(transfer.units, one) for one in checkout.reserved]
    tolerance = max(checkout.price_units // 100, 50_000)
    if transfer.units == checkout.price_units:
        grades.append(Evidence.ROUND)
    elif abs(transfer.units - checkout.price_units) <= tolerance:
        grades.append(Evidence.PRICE)
    return max(grades, default=Evidence.NONE)


def _by_digits(units: int, reserved: Reserved) -> Evidence:
    if units == reserved.units:
        return Evidence.EXACT
    digits = units % 10_000
    if not digits:
        up = -(-reserved.units // 10_000) * 10_000
        return Evidence.PRICE if units == up else Evidence.NONE
    shown = {
        side for step in (100, 1_000) for side in (reserved.units // step * step, -(-reserved.units // step) * step)
    }
    is_short = digits == reserved.suffix and units < reserved.price_units
    return Evidence.DIGITS if units in shown or is_short else Evidence.NONE


def may_be_paid(transfer: TransferFacts, checkout: Candidate) -> bool:
    """Whether the checkout could be credited: offered here, not over, and in time."""
    offer = checkout.offers.get(transfer.chain)
    return (
        offer is not None
        and checkout.status not in {"completed", "expired"}
        and checkout.created_at <= transfer.block_time + timedelta(seconds=1)
        and transfer.block_time <= checkout.expires_at + GRACE
    )


def may_be_meant(transfer: TransferFacts, checkout: Candidate) -> bool:
    """Whether a reader must reckon with the checkout: it may be paid, or its buyer may be a little late."""
    is_over_lately = (
        checkout.status != "completed"
        and checkout.expires_at - SPAN * 2 <= transfer.block_time
        and transfer.block_time < checkout.expires_at + SPAN
        and transfer.chain in checkout.offers
    )
    return may_be_paid(transfer, checkout) or is_over_lately


def readable(transfer: TransferFacts, around: Iterable[Candidate]) -> set[int]:
    """Return the checkouts of which any is right to credit, as far as facts can tell; none where they cannot."""
    graded = [(evidence(transfer, checkout), checkout) for checkout in around if may_be_meant(transfer, checkout)]
    best = max((grade for grade, _ in graded), default=Evidence.NONE)
    if best is Evidence.NONE:
        return set()
    likeliest = [checkout for grade, checkout in graded if grade is best]
    kinds = {_kind(checkout) for checkout in likeliest}
    if len(kinds) > 1:
        return set()
    return {c.pk for c in likeliest if may_be_paid(transfer, c)}


def _kind(checkout: Candidate) -> tuple[object, ...]:
    """Checkouts of one kind are interchangeable; without both references each is a kind of its own."""
    if checkout.customer_ref and checkout.product_ref:
        return checkout.customer_ref, checkout.product_ref, checkout.price_units
    return (checkout.pk,)


def are_interchangeable(one: Candidate, other: Candidate) -> bool:
    """Whether crediting either is right (the specification's rule 7)."""
    return one.pk == other.pk or _kind(one)[:2] == _kind(other)[:2] != ("", "")


# From a block to the decision, and from the end of a checkout to its expiry.
_SOON: Final = timedelta(seconds=10)
_READ_THROUGH: Final = timedelta(seconds=90)
# Who ended longer ago than this is neither live nor a rival.
_LATELY: Final = SPAN + 2 * MINUTE

EXACT_OF_ANOTHER = "it is another's exact amount"
UP_TO_ANOTHER = "rounded up to another's round price"
ENDED_BEFORE = "its checkout ended more than 30 minutes before, or was paid"
ROUND_BESIDE_RIVAL = "its checkout had just expired; a notice names both"
NOT_OFFERED = "its checkout did not offer the chain"


def simulate(
    shop: Shop, *, checkouts: int, seed: int, rival_span: timedelta = SPAN, doubts_round_prices: bool = False
) -> dict[Way, Tally]:
    """Return what became of all payments, by the way in which they were made."""
    market = Market(shop, Random(seed))
    trading = _Trading(market, rival_span, doubts_round_prices=doubts_round_prices)
    trading.run(checkouts)
    return trading.tallies


def total(tallies: Iterable[Tally]) -> Tally:
    """Add tallies up."""
    whole = Tally()
    for tally in tallies:
        whole.payments += tally.payments
        whole.right += tally.right
        whole.ceiling += tally.ceiling
        whole.named += tally.named
        whole.left += tally.left
        whole.wrong += tally.wrong
        whole.beyond += tally.beyond
        whole.misnamed += tally.misnamed
    return whole


class _Trading:
    def __init__(self, market: Market, rival_span: timedelta, *, doubts_round_prices: bool) -> None:
        self.market = market
        self.doubts_round_prices = doubts_round_prices
        self.rival_span = rival_span
        self.tallies: dict[Way, Tally] = defaultdict(Tally)
        self.sales: dict[int, Sale] = {}
        self.recent: deque[Sale] = deque()
        self.holders: dict[int, list[Sale]] = defaultdict(list)
        self.waiting: list[tuple[datetime, int, Sale | Sent]] = []
        self.planned = 0

    def run(self, checkouts: int) -> None:
        """Let everything happen in its order; a top-up is added when somebody came short."""
        for sale in self.market.open_checkouts(checkouts):
            self._plan(sale.facts.created_at, sale)
            for sent in self.market.payments_of(sale):
                self._plan(sent.transfer.block_time, sent)
        while self.waiting:
            at, _, happens = heapq.heappop(self.waiting)
            if isinstance(happens, Sale):
                self._open(happens)
            else:
                self._pass_time(at + _SOON)
                self._judge(happens)

    def _plan(self, at: datetime, happens: Sale | Sent) -> None:
        self.planned += 1
        heapq.heappush(self.waiting, (at, self.planned, happens))

    def _open(self, sale: Sale) -> None:
        self.sales[sale.facts.pk] = sale
        self.recent.append(sale)
        self._hold(sale)

    def _hold(self, sale: Sale) -> None:
        self.holders[sale.exact.units].append(sale)

    def _pass_time(self, now: datetime) -> None:
        while self.recent and self.recent[0].facts.expires_at + _LATELY < now:
            _end(self.recent.popleft())
        for sale in self.recent:
            if sale.facts.expires_at + _READ_THROUGH < now:
                _end(sale)

    def _judge(self, sent: Sent) -> None:
        around = self._around(sent.transfer)
        labelled = [sent.meant.facts] if sent.labelled else []
        known = Known(labelled=labelled, candidates=around, former=self._former(sent.transfer))
        verdict = decide_exact(
            sent.transfer, known, rival_span=self.rival_span, doubts_round_prices=self.doubts_round_prices
        )
        self._score(sent, verdict, around)
        if isinstance(verdict.decision, Credit) and verdict.checkout is not None:
            self._credit(self.sales[verdict.checkout.pk], sent)

    def _around(self, transfer: TransferFacts) -> list[Candidate]:
        """What the database would find: the live and the lately ended, and who holds the exact amount."""
        found = {sale.facts.pk: sale.facts for sale in self.recent}
        found |= {
            sale.facts.pk: sale.facts
            for sale in self.holders.get(transfer.units, [])[-1:]
            if not _is_released(sale, transfer.block_time)
        }
        return list(found.values())

    def _former(self, transfer: TransferFacts) -> Candidate | None:
        for sale in reversed(self.holders.get(transfer.units, [])):
            if _is_released(sale, transfer.block_time):
                return sale.facts
        return None

    def _credit(self, sale: Sale, sent: Sent) -> None:
        """Count the money; a buyer who came short and has time left is shown what is missing, and pays it."""
        units = sale.facts.seen_units + sent.transfer.units
        sale.facts = replace(sale.facts, seen_units=units)
        at = sent.transfer.block_time
        if sale.facts.is_covered:
            sale.facts = replace(sale.facts, status=CheckoutStatus.COMPLETED)
            return
        sale.facts = replace(sale.facts, status=CheckoutStatus.UNDERPAID)
        has_time = at + 5 * MINUTE < sale.facts.expires_at
        if sale is sent.meant and sent.way is Way.ROUND_FEE and has_time:
            fresh = self.market.reserve(sale.facts.price_units, at + MINUTE)
            sale.facts = replace(sale.facts, reserved=(*sale.facts.reserved, fresh))
            self._hold(sale)
            again = self.market.top_up(sale, at + MINUTE)
            self._plan(again.transfer.block_time, again)

    @staticmethod
    def _is_told(meant: Candidate, verdict: Verdict) -> bool:
        """Whether a notice names the one that was meant."""
        return meant.pk in {passed.checkout.pk for passed in verdict.passed_over}

    def _score(self, sent: Sent, verdict: Verdict, around: list[Candidate]) -> None:
        tally, meant, found = self.tallies[sent.way], sent.meant.facts, verdict.checkout
        tally.payments += 1
        best = {meant.pk} if sent.labelled else readable(sent.transfer, around)
        tally.ceiling += any(are_interchangeable(meant, self.sales[pk].facts) for pk in best)
        is_credit = isinstance(verdict.decision, Credit)
        if found is None:
            tally.left += 1
        elif are_interchangeable(meant, found):
            tally.right += is_credit
            tally.named += not is_credit
        elif is_credit and self._is_told(meant, verdict):
            tally.beyond[ROUND_BESIDE_RIVAL] += 1
        elif reason := _nobody_could_tell(sent, meant, found):
            (tally.beyond if is_credit else tally.misnamed)[reason] += 1
        else:
            tally.wrong.append(f"{_told(sent)} became {found.public_id}: {verdict}")


def _end(sale: Sale) -> None:
    if sale.facts.status in (CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID):
        sale.facts = replace(sale.facts, status=CheckoutStatus.EXPIRED)


def _is_released(sale: Sale, at: datetime) -> bool:
    return sale.facts.created_at + LIFETIME + COOLING < at


def _nobody_could_tell(sent: Sent, meant: Candidate, found: Candidate) -> str | None:
    """Return why the facts of the transfer speak for the checkout that it is not meant for; None where they do not."""
    if evidence(sent.transfer, found) is Evidence.EXACT:
        return EXACT_OF_ANOTHER
    if sent.way is Way.UP_2 and sent.transfer.units == found.price_units:
        return UP_TO_ANOTHER
    if sent.transfer.chain not in meant.offers:
        return NOT_OFFERED
    if not may_be_meant(sent.transfer, meant):
        return ENDED_BEFORE
    return None


def table(tallies: dict[Way, Tally]) -> list[str]:
    """Write what became of the payments, a line for each way."""
    head = "way of paying                              payments    right  ceiling    named     left    wrong   beyond"
    return [head, *(_line(way, tally) for way, tally in sorted(tallies.items()))]


def _line(way: str, tally: Tally) -> str:
    beyond = tally.beyond.total() + tally.misnamed.total()
    figures = (tally.payments, tally.right, tally.ceiling, tally.named, tally.left, len(tally.wrong), beyond)
    return f"{way:<42}" + "".join(f"{figure:>9,}" for figure in figures)


def _told(sent: Sent) -> str:
    meant = sent.meant.facts
    return f"{money(sent.transfer.units)} ({sent.way}) meant for {meant.public_id} ({money(meant.amount_units)} + {sent.meant.exact.suffix})"
