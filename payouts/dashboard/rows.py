"""Payouts as the dashboard lists and shows them: rows, tabs, and one payout's history."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db.models import Count, QuerySet, Sum
from django.utils.translation import gettext, gettext_noop, pgettext

from accounts.states import Mode
from accounts.team.access import Seat
from accounts.team.permissions import Act
from checkouts.dashboard.timeline import Link, Step
from gateway.core.currencies import readable_price
from gateway.core.money import readable, readable_units
from gateway.core.web.badges import Badge
from gateway.core.web.lists import FilterForm, HiddenChoice
from payouts.approvals.reviews import look_alikes
from payouts.approvals.service import needed_approvals, standing_approvals
from payouts.following.candidates import is_waiting
from payouts.following.service import wrong_amounts
from payouts.lifecycle.claims import claim_code, claim_url
from payouts.models import Payout, PayoutApproval, PayoutBatch
from payouts.outflows.lost_outflows import lost_outflows
from payouts.selectors import heads_of
from payouts.serializers import confirmations_of
from payouts.states import (
    SHOWN_DIGITS,
    UNHANDED,
    UNSENT,
    AddressBy,
    BatchStatus,
    PayoutException,
    PayoutKind,
    PayoutStatus,
)
from wallets.dashboard.rows import MarkedAddress, explorer_url, marked, shortened
from wallets.models import WatchedMovement
from wallets.networks import chain_spec, chain_title, decimals_of
from wallets.states import Direction, TransferState

_S = PayoutStatus
TABS: Final = (
    ("", gettext_noop("To approve")),
    ("pay", gettext_noop("To pay")),
    ("sent", gettext_noop("Sent")),
    ("done", gettext_noop("Done")),
)
STATUSES: Final[dict[str, tuple[PayoutStatus, ...]]] = {
    "": (_S.OPEN, _S.REQUESTED),
    "pay": (_S.APPROVED,),
    "sent": (_S.SENDING,),
    "done": (_S.PAID, _S.CANCELLED, _S.EXPIRED),
}

EXCEPTIONS: Final = {
    PayoutException.REVERSED: Badge("Reversed", "bad"),
    PayoutException.PAID_TWICE: Badge("Paid twice", "bad"),
    PayoutException.WRONG_AMOUNT: Badge("Another amount", "warn"),
}

_SENT_CANCELLED: Final = Badge("Sent though cancelled", "bad")
_SENT_ELSEWHERE: Final = Badge("Sent elsewhere", "bad")

_BY: Final = {
    AddressBy.CLAIM: gettext_noop("Given by the recipient, on the claim page."),
    AddressBy.API: gettext_noop("Given by your shop, through the API."),
    AddressBy.PERSON: gettext_noop("Given by your team."),
    AddressBy.CHAIN: gettext_noop("Read from the transaction."),
}

# Statuses in which the claim page still takes an address.
_CLAIMABLE: Final = (_S.OPEN, _S.REQUESTED)

_MOST_BATCHES: Final = 100


class PayoutFilters(FilterForm[Payout]):
    """The filters of the list: its tab."""

    tabbed_by = "status"
    status = HiddenChoice(TABS)

    def filter(self, found: QuerySet[Payout]) -> QuerySet[Payout]:
        """Return the payouts of the tab."""
        return found.filter(status__in=STATUSES[self.cleaned_data["status"]])


@dataclass(frozen=True, slots=True)
class PayoutRow:
    """A row of the list. `to` is empty until the address is known, `asked_by` a person's address or an API key's id."""

    public_id: str
    amount: str
    token: str
    network: str
    to: str
    why: str
    asked_by: str
    asked_at: datetime
    badge: Badge
    # Whether it has an address that waits for approval.
    is_approvable: bool
    # What people have to know of the address, in a few words; empty for a key's own account, and once it was handed out.
    doubt: str = ""
    # What was sent, if a person accepted another amount as paid.
    sent: str = ""
    # How far the network is with what was seen; empty once that is final.
    progress: str = ""


def payout_rows(payouts: Iterable[Payout]) -> list[PayoutRow]:
    """Return the rows of payouts, in their order. Their movements are loaded."""
    shown = list(payouts)
    heads = heads_of(shown)
    return [_row(payout, heads) for payout in shown]


def mine(seat: Seat) -> QuerySet[Payout]:
    """Return the payouts of a seat's merchant and mode, with who asked for them, what pays them and what was sent too much."""
    found = Payout.objects.of(seat.merchant.pk, seat.mode)
    return found.select_related("requested_by", "movement").prefetch_related("surplus__movement")


def tab_counts(seat: Seat) -> dict[str, int]:
    """Return how many payouts each tab has, by its value."""
    rows = Payout.objects.of(seat.merchant.pk, seat.mode).values("status").annotate(count=Count("pk")).order_by()
    counts = {row["status"]: row["count"] for row in rows}
    return {tab: sum(counts.get(status, 0) for status in statuses) for tab, statuses in STATUSES.items()}


def amount_of(payout: Payout) -> str:
    """Return a payout's amount for people, without its token."""
    return readable_units(int(payout.units), decimals_of(payout.chain, payout.token))


def takes_transaction(payout: Payout) -> bool:
    """Whether a person can name the transaction that paid a payout: it waits to be paid on a network."""
    return payout.mode == Mode.LIVE and is_waiting(payout)


def sent_of(payout: Payout) -> str:
    """Return what pays a payout, with its token, if that is another amount; empty also for one that a reorg took back."""
    movement = payout.movement
    is_gone = payout.exception == PayoutException.REVERSED
    if movement is None or is_gone or movement.units == payout.units:
        return ""
    return f"{readable_units(int(movement.units), movement.decimals)} {movement.token}"


def badge_of(payout: Payout) -> Badge:
    """Return the badge of a payout's exception, or else of its status."""
    exception = EXCEPTIONS.get(PayoutException(payout.exception)) if payout.exception else None
    if sent_cancelled(payout):
        exception = _SENT_CANCELLED
    elif sent_elsewhere(payout):
        exception = exception or _SENT_ELSEWHERE
    return exception or PayoutStatus(payout.status).badge


def sent_cancelled(payout: Payout) -> list[WatchedMovement]:
    """Return what left for a cancelled payout all the same; empty for other payouts."""
    return [one.movement for one in payout.surplus.all()] if payout.status == PayoutStatus.CANCELLED else []


def sent_elsewhere(payout: Payout) -> list[WatchedMovement]:
    """Return what lists sent to addresses that a payout had before; empty for a cancelled one."""
    if payout.status == PayoutStatus.CANCELLED:
        return []
    here = (payout.chain, payout.token, payout.address)
    sent = [one.movement for one in payout.surplus.all()]
    # What came from the other side is of the present address.
    out = [one for one in sent if one.direction == Direction.OUT]
    return [one for one in out if (one.chain, one.token, one.counterparty) != here]


def asker_of(payout: Payout) -> str:
    """Return who asked for a payout."""
    if payout.requested_by:
        return str(payout.requested_by.email)
    if payout.requested_key:
        return gettext("API key %(key)s") % {"key": payout.requested_key}
    return gettext("Your shop")


def _row(payout: Payout, heads: Mapping[str, int | None]) -> PayoutRow:
    kind = gettext("Refund") if payout.kind == PayoutKind.REFUND else gettext("Payout")
    return PayoutRow(
        public_id=payout.public_id,
        amount=amount_of(payout),
        token=payout.token,
        network=chain_title(payout.chain),
        to=shortened(payout.address) if payout.address else "",
        why=payout.reason or payout.reference or kind,
        asked_by=asker_of(payout),
        asked_at=payout.created_at,
        badge=badge_of(payout),
        is_approvable=payout.status == PayoutStatus.REQUESTED,
        doubt=doubt_of(payout).short,
        sent=sent_of(payout),
        progress=progress_of(payout, heads),
    )


def progress_of(payout: Payout, heads: Mapping[str, int | None]) -> str:
    """Return the confirmations of what was seen of a payout until it is final; else nothing. `heads` is `heads_of` it."""
    movement = payout.movement
    if movement is None or movement.state != TransferState.DETECTED:
        return ""
    required = chain_spec(movement.chain).confirmations
    count = min(confirmations_of(movement, heads.get(movement.chain)), required)
    return gettext("%(count)s of %(required)s confirmations") % {"count": count, "required": required}


@dataclass(frozen=True, slots=True)
class AddressDoubt:
    """What people have to know of a payout's address before they approve or pay it: in a few words, and in sentences.

    Both are empty where nothing has to be known. It `is_bad` if the address is not paid.
    """

    short: str = ""
    heading: str = ""
    words: str = ""
    is_bad: bool = False


def doubt_of(payout: Payout) -> AddressDoubt:
    """Return what people have to know of an address that waits for approval, or to be paid. In test mode no chain was asked."""
    if payout.mode != Mode.LIVE or payout.status not in UNHANDED:
        return AddressDoubt()
    here = chain_title(payout.chain)
    if payout.objection:
        return AddressDoubt(
            gettext("Cannot be paid"), gettext("This address cannot be paid."), payout.objection, is_bad=True
        )
    if payout.inspected_at is None:
        words = gettext(_UNCHECKED).format(here=here)
        return AddressDoubt(gettext("Not checked"), gettext("This address was not checked."), words)
    if payout.contract_on == payout.chain:
        network = {"network": here}
        heading = gettext("This address is a contract on %(network)s.") % network
        return AddressDoubt(gettext("A contract on %(network)s") % network, heading, gettext(_CONTRACT))
    if payout.contract_on:
        places = {"there": chain_title(payout.contract_on), "here": here}
        short = gettext("A contract on %(there)s, not on %(here)s") % places
        heading = gettext("This address is a contract on %(there)s, not on %(here)s.") % places
        return AddressDoubt(short, heading, gettext(_ELSEWHERE).format(here=here))
    return AddressDoubt()


_UNCHECKED: Final = gettext_noop(
    "{here} has not said yet whether it is a wallet: no node answered. It is asked again when you "
    "approve. If none answers then, nothing says that the money is not lost there."
)
_CONTRACT: Final = gettext_noop(
    "A vault, a multisig or a smart account is one, and so may be something else. Ask the recipient "
    "whether it is theirs."
)
_ELSEWHERE: Final = gettext_noop(
    "Nothing is there on {here}. A contract wallet belongs to its owner only on the networks where it "
    "was made: money that is sent to it on {here} can be lost. Ask the recipient for an address on "
    "{here}."
)


@dataclass(frozen=True, slots=True)
class Funds:
    """The receiving wallet's balance of a token, what it lacks for payouts, and what waits to be settled to it; for people.

    `balance` is empty if nobody read it: the wallet is not watched. `short` and `waiting` are empty if they are nothing.
    """

    balance: str
    short: str
    waiting: str


@dataclass(frozen=True, slots=True)
class PayGroup:
    """Approved payouts of one chain and token, which one wallet can pay together. `total` is `units` for people."""

    chain: str
    network: str
    token: str
    units: int
    total: str
    rows: list[PayoutRow]
    funds: Funds | None = None


def pay_groups(payouts: Sequence[Payout]) -> list[PayGroup]:
    """Return approved payouts by chain and token."""
    groups: dict[tuple[str, str], list[Payout]] = {}
    for payout in payouts:
        groups.setdefault((payout.chain, payout.token), []).append(payout)
    return [_group(chain, token, found) for (chain, token), found in sorted(groups.items())]


def _group(chain: str, token: str, payouts: Sequence[Payout]) -> PayGroup:
    units = sum(int(payout.units) for payout in payouts)
    total = readable_units(units, decimals_of(chain, token))
    return PayGroup(chain, chain_title(chain), token, units, total, payout_rows(payouts))


@dataclass(frozen=True, slots=True)
class UnclosedBatch:
    """A batch that may still be paid. `digest` are the digits that people compare; `is_cancelled` says that it cools down."""

    public_id: str
    count: int
    total: str
    token: str
    network: str
    digest: str
    made_at: datetime
    is_cancelled: bool


def unclosed_batches(seat: Seat) -> list[UnclosedBatch]:
    """Return the batches that are not closed, newest first, at most a hundred."""
    mine = PayoutBatch.objects.filter(merchant=seat.merchant, mode=seat.mode).exclude(status=BatchStatus.CLOSED)
    rows = mine.annotate(count=Count("payouts"), units=Sum("payouts__units")).order_by("-pk")[:_MOST_BATCHES]
    return [
        UnclosedBatch(
            public_id=row.public_id,
            count=row.count,
            total=readable_units(int(row.units or 0), decimals_of(row.chain, row.token)),
            token=row.token,
            network=chain_title(row.chain),
            digest=bytes(row.digest).hex()[:SHOWN_DIGITS],
            made_at=row.created_at,
            is_cancelled=row.status == BatchStatus.CANCELLED,
        )
        for row in rows
    ]


def steps_of(payout: Payout, seat: Seat) -> list[Step]:
    """Return what happened to a payout, in order. Its batch and movement are loaded."""
    steps = [Step(payout.created_at, gettext("Asked for"), gettext("By %(payout)s.") % {"payout": asker_of(payout)})]
    if payout.addressed_at:
        note = gettext(_BY[AddressBy(payout.address_by)]) if payout.address_by else ""
        steps.append(Step(payout.addressed_at, gettext("Address known"), note))
    steps += [_approval_step(approval, payout) for approval in payout.approvals.select_related("user")]
    if payout.batch:
        url = seat.url("dashboard_payout_batch", batch_id=payout.batch.public_id)
        steps.append(
            Step(payout.batch.created_at, gettext("Handed out to be signed"), link=Link(gettext("See the batch"), url))
        )
        if payout.batch.status == BatchStatus.CANCELLED and payout.batch.cancelled_at:
            steps.append(
                Step(
                    payout.batch.cancelled_at,
                    gettext("Batch cancelled"),
                    gettext("It waits until it should no longer be paid."),
                )
            )
    if payout.movement:
        steps.append(_seen_step(payout))
    if payout.paid_at:
        steps.append(Step(payout.paid_at, gettext("Paid"), gettext("The network confirmed it for good."), "ok"))
    if payout.exception == PayoutException.REVERSED and payout.movement and payout.movement.orphaned_at:
        steps.append(
            Step(payout.movement.orphaned_at, gettext("Reversed"), gettext("The network took it back."), "bad")
        )
    if payout.ended_at:
        title = (
            gettext("Cancelled")
            if payout.status == PayoutStatus.CANCELLED
            else gettext("Expired: nobody gave an address in time")
        )
        steps.append(Step(payout.ended_at, title))
    return sorted(steps, key=lambda step: step.at)


def _approval_step(approval: PayoutApproval, payout: Payout) -> Step:
    is_present = approval.revision == payout.revision
    note = "" if is_present else gettext("Of an address before the present one: it no longer counts.")
    return Step(
        approval.approved_at,
        gettext("Approved by %(email)s") % {"email": approval.user.email},
        note,
        "ok" if is_present else "",
    )


def _seen_step(payout: Payout) -> Step:
    movement = payout.movement
    assert movement is not None  # noqa: S101 - asked for by its only caller
    progress = progress_of(payout, heads_of([payout]))
    note = gettext("%(progress)s. Not final yet.") % {"progress": progress} if progress else ""
    url = explorer_url(movement)
    link = Link(gettext("See it on the explorer"), url, is_outside=True) if url else None
    return Step(movement.block_time, gettext("Seen on the network"), note, link=link)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Money that a refund sends back. `checkout_url` leads to the checkout that it paid, if it paid one.

    It `is_gone` if a reorg removed it.
    """

    amount: str
    token: str
    network: str
    tx_hash: str
    checkout_url: str
    is_gone: bool


@dataclass(frozen=True, slots=True)
class ShownOutflow:
    """An outflow to a payout's recipient that a person may accept: it is not of its amount, or from a lost time."""

    movement_id: str
    amount: str
    token: str
    tx_hash: str
    sent_at: datetime


def _outflow(movement: WatchedMovement) -> ShownOutflow:
    amount = readable_units(int(movement.units), movement.decimals)
    return ShownOutflow(movement.public_id, amount, movement.token, movement.tx_hash, movement.block_time)


@dataclass(frozen=True, slots=True)
class PayoutDetail:
    """What the page of a payout shows beside its history.

    `claim_url` is empty for people who may not give the address, and where no key derives it. `have` of `need` approvals count.
    """

    payout: Payout
    amount: str
    network: str
    badge: Badge
    steps: list[Step]
    facts: list[tuple[str, str]]
    claim_url: str
    have: int
    need: int
    look_alikes: list[str]
    sources: list[SourceRow]
    may_approve: bool
    doubt: AddressDoubt
    other_amounts: list[ShownOutflow]
    lost_outflows: list[ShownOutflow]
    sent_cancelled: list[ShownOutflow]
    sent_elsewhere: list[ShownOutflow]

    @property
    def is_approvable(self) -> bool:
        """Whether it waits for approval."""
        return self.payout.status == PayoutStatus.REQUESTED

    @property
    def is_approved_by_one_more(self) -> bool:
        """Whether one more approval is enough, and nothing is to be decided beside it."""
        return self.is_approvable and self.need - self.have == 1 and not self.lost_outflows

    @property
    def lost_its_source(self) -> bool:
        """Whether a reorg removed money that it sends back, or sent back already."""
        is_out = self.payout.status in (PayoutStatus.SENDING, PayoutStatus.PAID)
        return is_out and any(source.is_gone for source in self.sources)

    @property
    def is_unsent(self) -> bool:
        """Whether it can be cancelled, and its address changed."""
        return self.payout.status in UNSENT

    @property
    def takes_address(self) -> bool:
        """Whether a person can give its address: not if the payer must prove it."""
        return self.is_unsent and not self.payout.requires_proof

    @property
    def takes_transaction(self) -> bool:
        """Whether a person can name the transaction that paid it."""
        return takes_transaction(self.payout)

    @property
    def address(self) -> MarkedAddress | None:
        """The address as people compare it; None until it is known."""
        return marked(self.payout.address) if self.payout.address else None


def detail_of(payout: Payout, seat: Seat, *, now: datetime) -> PayoutDetail:
    """Return what the page of a payout shows to a person. Its merchant, batch and movement are loaded."""
    waits = payout.status == PayoutStatus.REQUESTED
    code = claim_code(payout) if payout.status in _CLAIMABLE and seat.can(Act.REQUEST_PAYOUTS) else None
    return PayoutDetail(
        payout=payout,
        amount=amount_of(payout),
        network=chain_title(payout.chain),
        badge=badge_of(payout),
        steps=steps_of(payout, seat),
        facts=facts_of(payout, seat),
        claim_url=claim_url(code) if code else "",
        have=standing_approvals(payout).count(),
        need=needed_approvals(payout),
        look_alikes=look_alikes([payout], now=now).get(payout.pk, []) if waits else [],
        sources=sources_of(payout, seat),
        may_approve=seat.can(Act.APPROVE_PAYOUTS),
        doubt=doubt_of(payout),
        other_amounts=[_outflow(movement) for movement in wrong_amounts(payout)],
        lost_outflows=[_outflow(movement) for movement in lost_outflows(payout)] if payout.status in UNHANDED else [],
        sent_cancelled=[_outflow(movement) for movement in sent_cancelled(payout)],
        sent_elsewhere=[_outflow(movement) for movement in sent_elsewhere(payout)],
    )


def sources_of(payout: Payout, seat: Seat) -> list[SourceRow]:
    """Return the money that a refund sends back; empty for other payouts."""
    found = []
    for source in payout.sources.select_related("transfer__payment__checkout").order_by("pk"):
        transfer = source.transfer
        payment = getattr(transfer, "payment", None)
        found.append(
            SourceRow(
                amount=readable_units(int(source.units), transfer.decimals),
                token=transfer.token,
                network=chain_title(transfer.chain),
                tx_hash=transfer.tx_hash,
                checkout_url=seat.url("dashboard_checkout", checkout_id=payment.checkout.public_id) if payment else "",
                is_gone=transfer.state == TransferState.ORPHANED,
            )
        )
    return found


def _proof_of(payout: Payout) -> str:
    if payout.proved_at:
        return gettext("The address paid, and its key signed our message")
    return gettext("Only an address that paid, and whose key signs our message") if payout.requires_proof else ""


def _quote_of(payout: Payout) -> list[tuple[str, str]]:
    """Return what a payout was asked for in another currency, and the evidence of its rate, by label; empty for others."""
    quote = payout.quote
    if not quote:
        return []
    currency = quote["currency"]
    said = gettext("1 %(currency)s by %(source)s")
    told = [
        (said % {"currency": currency, "source": one["name"]}, f"{one['rate']} USD, {one['taken_at']}")
        for one in quote["sources"]
    ]
    return [
        (gettext("Asked for"), f"{readable_price(Decimal(quote['amount']), currency)} {currency}"),
        (gettext("Converted once to"), f"{readable(Decimal(quote['usd_amount']))} USD"),
        *told,
    ]


def facts_of(payout: Payout, seat: Seat) -> list[tuple[str, str]]:
    """Return names and values of what else is known of a payout."""
    found = [
        *_quote_of(payout),
        (gettext("Proof"), _proof_of(payout)),
        (gettext("Reason"), payout.reason),
        (pgettext("team", "Reference"), payout.reference),
        (gettext("Recipient"), payout.email),
        (gettext("Sent"), sent_of(payout)),
        (gettext("Transaction"), payout.movement.tx_hash if payout.movement else payout.imported_tx),
    ]
    return [(name, seat.shown(value)) for name, value in found if value]
