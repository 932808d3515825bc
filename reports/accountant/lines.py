"""A month's lines for the accountant: what came, what was given back and sent, what reorgs took, fees and settlements."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import reduce
from itertools import islice
from typing import Any, Final

from django.db.models import Count, F, Min, Q, Sum

from accounts.models import FeeEntry
from accounts.states import FeeKind, Mode
from checkouts.models import Checkout
from gateway.core.api.pagination import CHUNK_ROWS
from gateway.core.money import EXACT, from_units, readable_units
from mails.addresses import masked_in
from payouts.models import Payout
from payouts.states import PayoutKind
from reports.accountant.places import Place, Table, bearing_transfers, fees_within, moving_places, places
from reports.entries import ReportRow, RowKind, movements_by_key, transfers_by_key
from reports.inputs import ReportFilter
from reports.worths import refund_worths
from settlements.gas.fees import COIN, LAMPORTS
from settlements.models import GasAttempt, Settlement, SponsoredTransaction
from settlements.states import SettlementStatus
from wallets.networks import chain_spec, decimals_of, is_accepted, is_of_dollars
from wallets.states import Direction, WatchPurpose

_NOTHING: Final = Decimal(0)
_DAY: Final = timedelta(days=1)


class LineKind(StrEnum):
    """What a line is. One that takes another back has the same kind, and `is_reversal`."""

    PAYMENT = "payment"
    MACHINE_PAYMENT = "machine_payment"
    # It reached an address of the merchant's, and paid for nothing.
    UNCREDITED = "uncredited"
    # The same, of a token that no checkout accepts: its value is unknown.
    OTHER_TOKEN = "other_token"  # noqa: S105 - a kind of money
    REFUND = "refund"
    PAYOUT = "payout"
    # What moved in a watched wallet, and is none of the above.
    WALLET_IN = "wallet_in"
    WALLET_OUT = "wallet_out"
    # From deposit addresses to the merchant's own wallet: it changes no sum, but has a network fee.
    SETTLEMENT = "settlement"
    # The operator's fee for a payment of another month, or what is given back of it.
    FEE = "fee"


_KINDS: Final = {
    RowKind.CHECKOUT: LineKind.PAYMENT,
    RowKind.X402: LineKind.MACHINE_PAYMENT,
    RowKind.UNCREDITED: LineKind.UNCREDITED,
    RowKind.OTHER_TOKEN: LineKind.OTHER_TOKEN,
}
_RETURNING: Final = frozenset({LineKind.REFUND})
_SENDING: Final = frozenset({LineKind.PAYOUT, LineKind.WALLET_OUT})


@dataclass(frozen=True, slots=True)
class Line:
    """A line. `units` are base units: what moved, as a positive number; a reversal moves them back.

    `fee` is what the operator charged in the same time for the payment, less what was given back, in USD. `network_fee` is what
    a gas account of this installation paid for the transaction, in `coin`. Both are None where there is none, or none is known.
    `is_in_report` is false for what reports do not add up: refunds from wallets that are not watched.
    """

    id: str
    moment: datetime
    kind: LineKind
    chain: str
    token: str
    units: int = 0
    is_reversal: bool = False
    is_live: bool = True
    order_ref: str = ""
    description: str = ""
    customer: str = ""
    checkout: str = ""
    # The machine's payment, the refund, the payout or the settlement.
    subject: str = ""
    tx_hash: str = ""
    counterparty: str = ""
    fee: Decimal | None = None
    network_fee: Decimal | None = None
    coin: str = ""
    is_in_report: bool = True
    # Of a checkout whose price was converted: what the merchant said.
    price: Decimal | None = None
    currency: str = ""
    # Of euros that paid a checkout, or that a refund of it gave back: what they were worth there, in millionths of a USD.
    worth: int | None = None

    @property
    def received(self) -> Decimal:
        """Return what came, in tokens; negative where it was taken back."""
        return _NOTHING if self.kind in _RETURNING | _SENDING else self._signed

    @property
    def refunded(self) -> Decimal:
        """Return what a refund gave back, in tokens."""
        return self._signed if self.kind in _RETURNING else _NOTHING

    @property
    def sent(self) -> Decimal:
        """Return what else left, in tokens."""
        return self._signed if self.kind in _SENDING else _NOTHING

    @property
    def net(self) -> Decimal:
        """Return what the line changes of what the merchant has, in tokens."""
        return EXACT.subtract(EXACT.subtract(self.received, self.refunded), self.sent)

    @property
    def usd(self) -> Decimal | None:
        """Return `net` in USD, as in reports: an accepted token is one each, and euros have their `worth`.

        None for others, which may be worth anything.
        """
        if self.worth is None:
            return self.net if is_accepted(self.chain, self.token) else None
        worth = from_units(self.worth)
        return -worth if self.net < 0 else worth

    @property
    def _signed(self) -> Decimal:
        amount = from_units(self.units, decimals_of(self.chain, self.token))
        return -amount if self.is_reversal else amount


def month_lines(wanted: ReportFilter, *, masks_emails: bool = False) -> Iterator[Line]:
    """Yield the lines of a filter's time, oldest first, in constant memory; with e-mail addresses of buyers masked if asked."""
    rest = places(wanted)
    told: list[Line] = []
    while some := list(islice(rest, CHUNK_ROWS)):
        # The lines of one transaction have one time: others of it are at most in the chunk before.
        costed = {(line.chain, line.tx_hash) for line in told}
        named = _with_words(_lines_at(some, wanted), masks_emails=masks_emails)
        told = _with_network_fees(named, wanted, costed)
        yield from told


def usd_of_euros(wanted: ReportFilter) -> Decimal:
    """Return what the lines of a filter's network and token add up to in USD, of euros: of those that paid checkouts, less refunds."""
    rest, usd = moving_places(wanted), _NOTHING
    while some := list(islice(rest, CHUNK_ROWS)):
        worths = [line.usd for line in _lines_at(some, wanted) if line.worth is not None]
        usd = reduce(EXACT.add, (one for one in worths if one is not None), usd)
    return usd


def _lines_at(some: Sequence[Place], wanted: ReportFilter) -> list[Line]:
    keys = {table: [place.key for place in some if place.table == table] for table in Table}
    found = {
        Table.TRANSFER: _transfers(keys[Table.TRANSFER], wanted),
        Table.MOVEMENT: _movements(keys[Table.MOVEMENT], wanted),
        Table.ELSEWHERE: _elsewhere(keys[Table.ELSEWHERE]),
        Table.NOTED: _noted(keys[Table.NOTED]),
        Table.SETTLEMENT: _settlements(keys[Table.SETTLEMENT]),
        Table.FEE: _fees(keys[Table.FEE]),
    }
    lines = []
    for place in some:
        line = found[place.table].get(place.key)
        # Gone since its place was read, as a watched wallet may be.
        if line is not None:
            lines.append(_reversal(line, place.moment) if place.is_reversal else replace(line, moment=place.moment))
    return lines


def _reversal(line: Line, moment: datetime) -> Line:
    # Its fee is an entry of its own, of when it was given back.
    return replace(line, id=f"{line.id}:reversed", moment=moment, is_reversal=True, fee=None)


def _line_of(row: ReportRow, kind: LineKind, **facts: Any) -> Line:
    is_out = kind in _RETURNING | _SENDING
    return Line(
        id=row.id,
        moment=row.block_time,
        kind=kind,
        chain=row.chain,
        token=row.token,
        units=int(row.units),
        is_live=row.is_live,
        order_ref=row.order_ref or "",
        checkout=row.checkout or "",
        subject=row.payout or row.machine or "",
        description=row.resource or "",
        tx_hash=row.tx_hash,
        counterparty=row.recipient if is_out else row.sender,
        worth=row.worth,
        **facts,
    )


def _transfers(keys: Sequence[int], wanted: ReportFilter) -> dict[int, Line]:
    rows = transfers_by_key(keys)
    subjects = {row.checkout or row.machine or "" for row in rows.values()} - {""}
    fees = fees_within(wanted).filter(kind__in=FeeKind.values, subject_id__in=subjects) if subjects else None
    charged = dict(fees.values_list("subject_id").annotate(fee=Sum("amount"))) if fees is not None else {}
    bearing = bearing_transfers(set(charged)) if charged else {}
    return {
        key: _line_of(row, _KINDS[RowKind(row.kind)], fee=_fee_of(row, key, charged, bearing))
        for key, row in rows.items()
    }


def _fee_of(row: ReportRow, key: int, charged: dict[str, Decimal], bearing: dict[str, int]) -> Decimal | None:
    subject = row.checkout or row.machine or ""
    return charged.get(subject) if bearing.get(subject) == key else None


def _movements(keys: Sequence[int], wanted: ReportFilter) -> dict[int, Line]:
    rows = movements_by_key(keys)
    # Of a payout that is known by what reached its recipient, from before this wallet was watched.
    unnamed = {row.tx_hash for row in rows.values() if row.direction == Direction.OUT and row.payout is None}
    named = _payouts_of(unnamed, wanted) if unnamed else {}
    worths = refund_worths({payout for place, (payout, _) in named.items() if not is_of_dollars(place[-1])})
    lines = {}
    for key, row in rows.items():
        payout = named.get((row.chain, row.tx_hash, row.position, row.token))
        if payout is not None and row.payout is None:
            row = row._replace(payout=payout[0], payout_kind=payout[1], worth=worths.get(payout[0]))
        lines[key] = _line_of(row, _kind_of_movement(row))
    return lines


def _payouts_of(hashes: set[str], wanted: ReportFilter) -> dict[tuple[str, str, int, str], tuple[str, str]]:
    found = Payout.objects.of(wanted.merchant_id, wanted.mode).filter(
        movement__wallet__purpose=WatchPurpose.PAYOUT, movement__tx_hash__in=hashes
    )
    names = [f"movement__{name}" for name in ("chain", "tx_hash", "position", "token")]
    return {
        (row[0], row[1], row[2], row[3]): (row[4], row[5]) for row in found.values_list(*names, "public_id", "kind")
    }


def _kind_of_movement(row: ReportRow) -> LineKind:
    if row.direction == Direction.IN:
        return LineKind.WALLET_IN
    if row.payout_kind is None:
        return LineKind.WALLET_OUT
    return LineKind.REFUND if row.payout_kind == PayoutKind.REFUND else LineKind.PAYOUT


def _elsewhere(keys: Sequence[int]) -> dict[int, Line]:
    kinds = {PayoutKind.REFUND: LineKind.REFUND, PayoutKind.PAYOUT: LineKind.PAYOUT}
    rows = movements_by_key(keys)
    return {
        key: _line_of(row, kinds[PayoutKind(row.payout_kind)], is_in_report=False)
        for key, row in rows.items()
        if row.payout_kind is not None
    }


def _noted(keys: Sequence[int]) -> dict[int, Line]:
    if not keys:
        return {}
    rows = Payout.objects.filter(pk__in=keys)
    checkout = "sources__transfer__payment__checkout"
    sources = rows.order_by("-sources__transfer").values_list("pk", f"{checkout}__public_id", f"{checkout}__order_ref")
    # The oldest transfer of several stays.
    paid_for = {key: (public_id or "", order_ref or "") for key, public_id, order_ref in sources}
    return {
        row.pk: Line(
            id=row.public_id,
            moment=row.paid_at or row.created_at,
            kind=LineKind.REFUND if row.kind == PayoutKind.REFUND else LineKind.PAYOUT,
            chain=row.chain,
            token=row.token,
            units=int(row.units),
            is_live=row.mode == Mode.LIVE,
            order_ref=paid_for[row.pk][1],
            checkout=paid_for[row.pk][0],
            subject=row.public_id,
            tx_hash=row.imported_tx,
            counterparty=row.address,
            is_in_report=False,
        )
        for row in rows
    }


def _settlements(keys: Sequence[int]) -> dict[int, Line]:
    if not keys:
        return {}
    rows = Settlement.objects.filter(pk__in=keys).select_related("transaction")
    bearing = _bearing_costs([row.transaction_id for row in rows if row.transaction_id])
    return {row.pk: _settlement(row, bears_cost=row.pk in bearing) for row in rows}


def _bearing_costs(transactions: Sequence[int]) -> set[int]:
    """Return which settlements have the network fees of transactions: the first of each that moved one merchant's money only."""
    shared = Settlement.objects.filter(transaction__in=transactions).values_list("transaction")
    settled = Min("pk", filter=Q(status=SettlementStatus.SETTLED))
    counted = shared.annotate(merchants=Count("merchant", distinct=True), first=settled)
    return {first for _, merchants, first in counted.order_by() if merchants == 1}


def _settlement(row: Settlement, *, bears_cost: bool) -> Line:
    spec = chain_spec(row.chain)
    cost = row.transaction.cost_wei if row.transaction and bears_cost else None
    amount = readable_units(row.units_moved, decimals_of(row.chain, row.token))
    return Line(
        id=row.public_id,
        moment=row.settled_at or row.created_at,
        kind=LineKind.SETTLEMENT,
        chain=row.chain,
        token=row.token,
        is_live=row.mode == Mode.LIVE,
        description=f"{amount} {row.token} from deposit addresses",
        subject=row.public_id,
        tx_hash=row.tx_hash,
        counterparty=row.to,
        network_fee=None if cost is None else cost / COIN,
        coin="" if cost is None else spec.coin,
    )


def _fees(keys: Sequence[int]) -> dict[int, Line]:
    rows = FeeEntry.objects.filter(pk__in=keys) if keys else ()
    return {
        row.pk: Line(
            id=f"fee:{row.subject_id}:{row.number}",
            moment=row.charged_at,
            kind=LineKind.FEE,
            chain=row.chain,
            token=row.token,
            checkout=row.subject_id if row.kind == FeeKind.CHECKOUT else "",
            subject=row.subject_id if row.kind == FeeKind.X402 else "",
            fee=row.amount,
        )
        for row in rows
    }


_NO_CHECKOUT: Final = ("", "", "", "", None, "")


def _with_words(lines: Sequence[Line], *, masks_emails: bool) -> list[Line]:
    """Add what checkouts were for and whose they are, and the reasons of refunds."""
    paid = Checkout.objects.filter(public_id__in={line.checkout for line in lines} - {""})
    columns = ("order_ref", "description", "customer_ref", "customer_email", "price", "currency")
    checkouts = {public_id: told for public_id, *told in paid.values_list("public_id", *columns)}
    named = Payout.objects.filter(public_id__in={line.subject for line in lines} - {""})
    payouts = {
        public_id: (reason, email) for public_id, reason, email in named.values_list("public_id", "reason", "email")
    }
    told_lines = []
    for line in lines:
        order_ref, description, reference, email, price, currency = checkouts.get(line.checkout, _NO_CHECKOUT)
        reason, recipient = payouts.get(line.subject, ("", ""))
        customer = reference or email or recipient
        told_lines.append(
            replace(
                line,
                order_ref=line.order_ref or order_ref,
                description=reason or line.description or description,
                customer=masked_in(customer) if masks_emails else customer,
                price=price,
                currency="" if price is None else currency,
            )
        )
    return told_lines


def _with_network_fees(lines: Sequence[Line], wanted: ReportFilter, costed: set[tuple[str, str]]) -> list[Line]:
    """Add what our gas accounts paid for the lines' transactions, once for each, other than those that are `costed`."""
    hashes = {line.tx_hash for line in lines if line.tx_hash and line.kind is not LineKind.SETTLEMENT and line.is_live}
    if not hashes:
        return list(lines)
    costs = {place: cost for place, cost in _costs_of(hashes, lines, wanted).items() if place not in costed}
    told = []
    for line in lines:
        place = (line.chain, line.tx_hash)
        if place in costs and line.kind is not LineKind.SETTLEMENT and not line.is_reversal:
            told.append(replace(line, network_fee=costs.pop(place), coin=chain_spec(line.chain).coin))
        else:
            told.append(line)
    return told


def _costs_of(hashes: set[str], lines: Sequence[Line], wanted: ReportFilter) -> dict[tuple[str, str], Decimal]:
    mined = GasAttempt.objects.filter(
        tx_hash__in=hashes, transaction__tx_hash=F("tx_hash"), transaction__merchant=wanted.merchant_id
    )
    costs = {
        (chain, tx_hash): wei / COIN
        for chain, tx_hash, wei in mined.values_list("transaction__account__chain", "tx_hash", "transaction__cost_wei")
        if wei is not None
    }
    # By the index of times: a transaction is stored shortly before its block.
    sponsored = SponsoredTransaction.objects.filter(
        merchant=wanted.merchant_id,
        tx_hash__in=hashes,
        chain__in={line.chain for line in lines},
        created_at__gte=lines[0].moment - _DAY,
        created_at__lte=lines[-1].moment + _DAY,
    )
    for chain, tx_hash, lamports in sponsored.values_list("chain", "tx_hash", "fee"):
        costs[chain, tx_hash] = Decimal(lamports) / LAMPORTS
    return costs
