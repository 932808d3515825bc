"""Queries of refunds and payouts for the API: one by id, a page, and their objects."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Prefetch, Q, QuerySet

from accounts.models import Membership
from accounts.states import Mode
from checkouts.inbox.serializers import parse_item_id
from checkouts.models import InboxItem
from checkouts.rows import Refund
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.pagination import Page, parse_page, parse_text, parse_time
from gateway.core.money import readable_units
from payouts import serializers
from payouts.approvals.service import approver_roles, needed_approvals, standing_approvals
from payouts.lifecycle.claims import claim_code, claim_url
from payouts.models import Payout, PayoutApproval, PayoutSource
from payouts.outflows.lost_outflows import with_lost_outflows
from payouts.states import PayoutException, PayoutKind, PayoutStatus
from wallets.models import ChainCursor
from wallets.networks import decimals_of

# While it waits, an approval can become void.
_APPROVABLE: Final = (PayoutStatus.REQUESTED, PayoutStatus.APPROVED)


@dataclass(frozen=True, slots=True)
class PayoutFilter:
    """The merchant, mode and filters of a list. Empty texts and None exclude nothing."""

    merchant_id: int
    mode: Mode
    kind: str = ""
    status: str = ""
    checkout_id: str = ""
    x402_payment_id: str = ""
    transfer_id: str = ""
    inbox_item_id: str = ""
    reference: str = ""
    created_after: datetime | None = None
    created_before: datetime | None = None


def parse_filter(
    merchant_id: int, mode: Mode, query: Mapping[str, str], *, kind: PayoutKind | None
) -> tuple[PayoutFilter, Page]:
    """Read a list's query string; a list of one `kind` has no filter of kinds. Raises InvalidRequestError."""
    wanted = PayoutFilter(
        merchant_id=merchant_id,
        mode=mode,
        kind=_one_of(query, "kind", PayoutKind.values) if kind is None else kind,
        status=_one_of(query, "status", PayoutStatus.values),
        checkout_id=parse_text(query, "checkout_id") or "",
        x402_payment_id=parse_text(query, "x402_payment_id") or "",
        transfer_id=parse_text(query, "transfer_id") or "",
        inbox_item_id=parse_text(query, "inbox_item_id") or "",
        reference=parse_text(query, "reference") or "",
        created_after=parse_time(query, "created_after"),
        created_before=parse_time(query, "created_before"),
    )
    return wanted, parse_page(query)


def _one_of(query: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    text = parse_text(query, name) or ""
    if text and text not in known:
        raise InvalidRequestError(f"{name} must be one of {', '.join(known)}.", param=name)
    return text


def payouts_wanted(wanted: PayoutFilter) -> QuerySet[Payout]:
    """Return the payouts that match, newest first."""
    found = Payout.objects.of(wanted.merchant_id, wanted.mode).order_by("-pk")
    columns = {
        "kind": wanted.kind,
        "status": wanted.status,
        "reference": wanted.reference,
        "created_at__gt": wanted.created_after,
        "created_at__lt": wanted.created_before,
    }
    found = found.filter(**{name: value for name, value in columns.items() if value})
    for source in _sources_wanted(wanted):
        found = found.filter(pk__in=PayoutSource.objects.filter(source).values("payout"))
    return found


def _sources_wanted(wanted: PayoutFilter) -> Iterator[Q]:
    """Yield for each filter of sources which of them a payout must have one of."""
    if wanted.checkout_id:
        brought = Q(transfer__payment__checkout__public_id=wanted.checkout_id)
        waits = Q(transfer__inbox_items__checkout__public_id=wanted.checkout_id)
        # An expired checkout counts what its successor sends back of its money, too.
        handed = Q(transfer__payment__handed_by__public_id=wanted.checkout_id)
        yield brought | waits | handed
    if wanted.x402_payment_id:
        yield Q(transfer__x402_payment__public_id=wanted.x402_payment_id)
    if wanted.transfer_id:
        yield Q(transfer__public_id=wanted.transfer_id)
    if wanted.inbox_item_id:
        named = parse_item_id(wanted.inbox_item_id)
        items = InboxItem.objects.filter(**named) if named else InboxItem.objects.none()
        yield Q(transfer__in=items.values("transfer"))


def payout_page(wanted: PayoutFilter, page: Page) -> list[Payout]:
    """Return a page of payouts with the data of their objects. Raises InvalidRequestError for an unknown starting_after."""
    found, offset = payouts_wanted(wanted), page.offset
    if page.starting_after is not None:
        mine = Payout.objects.of(wanted.merchant_id, wanted.mode)
        last = mine.filter(public_id=page.starting_after).values_list("pk", flat=True).first()
        if last is None:
            raise InvalidRequestError("starting_after names nothing of yours.", param="starting_after")
        found, offset = found.filter(pk__lt=last), 0
    return list(_with_objects(found)[offset : offset + page.limit])


def payout_named(merchant_id: int, mode: Mode, public_id: str, *, kind: PayoutKind | None = None) -> Payout:
    """Return a merchant's payout of a mode, with the data of its object. Raises NotFoundError."""
    found = None
    if "\x00" not in public_id:  # PostgreSQL would refuse the statement
        mine = Payout.objects.of(merchant_id, mode).filter(public_id=public_id, **({"kind": kind} if kind else {}))
        found = _with_objects(mine).first()
    if found is None:
        raise NotFoundError(f"There is no {kind or PayoutKind.PAYOUT} {public_id}.", param="payout_id")
    return found


def payout_objects(payouts: Sequence[Payout], *, shows_claims: bool, code: str = "") -> list[dict[str, Any]]:
    """Return the API's objects of payouts of one merchant; `code` is a new claim page's, which may not be shown again.

    A claim page's address is a right to say where money goes: it is null unless `shows_claims`.
    """
    if not payouts:
        return []
    roles = approver_roles(payouts[0].merchant)
    members = Membership.objects.filter(merchant=payouts[0].merchant_id, role__in=roles)
    approvers = set(members.values_list("user_id", flat=True))
    heads = heads_of(payouts)
    # Of these some approvals may be void although their revision and their people are right.
    lost = with_lost_outflows(payout for payout in payouts if payout.status in _APPROVABLE)
    return [
        serializers.Payout.of(
            payout,
            source=_source(payout),
            approvals=_approvals(payout, approvers, may_be_lost=payout.pk in lost),
            claim_url=_claim_url(payout, code) if shows_claims else None,
            transaction=serializers.transaction_object(payout, heads),
        )
        for payout in payouts
    ]


def heads_of(payouts: Iterable[Payout]) -> dict[str, int | None]:
    """Return the newest heights of the chains on which payouts were seen, their movements loaded. No query if none was."""
    chains = {payout.movement.chain for payout in payouts if payout.movement}
    return dict(ChainCursor.objects.filter(chain__in=chains).values_list("chain", "head")) if chains else {}


def refunds_of(transfer_ids: Sequence[int]) -> list[Refund]:
    """Return the refunds of transfers, oldest first, for the timeline of the checkout that they paid."""
    sources = PayoutSource.objects.filter(transfer__in=transfer_ids)
    found = Payout.objects.filter(pk__in=sources.values("payout")).select_related("movement").order_by("pk")
    return [_refund(payout) for payout in found]


def _refund(payout: Payout) -> Refund:
    units = int(payout.movement.units if payout.movement and payout.paid_at else payout.units)
    tx_hash = payout.movement.tx_hash if payout.movement else payout.imported_tx
    return Refund(
        public_id=payout.public_id,
        amount=f"{readable_units(units, decimals_of(payout.chain, payout.token))} {payout.token}",
        token=payout.token,
        note=f"{tx_hash}, noted by a person" if payout.imported_tx else tx_hash,
        is_noted=bool(payout.imported_tx),
        asked_at=payout.created_at,
        paid_at=payout.paid_at,
        reversed_at=_reversed_at(payout),
        ended_at=payout.ended_at,
    )


def _reversed_at(payout: Payout) -> datetime | None:
    """Return when the network took a paid payout's outflow back; while that is on its way again, when it was paid."""
    if payout.exception != PayoutException.REVERSED or payout.movement is None or payout.paid_at is None:
        return None
    return max(payout.paid_at, payout.movement.orphaned_at or payout.paid_at)


def event_object(key: int) -> dict[str, Any]:
    """Return the API's object of a payout by its key, for events: whoever reads one may not say where the money goes."""
    [shown] = payout_objects(list(_with_objects(Payout.objects.filter(pk=key))), shows_claims=False)
    return shown


def _with_objects(found: QuerySet[Payout]) -> QuerySet[Payout]:
    items = InboxItem.objects.select_related("checkout").order_by("pk")
    sources = PayoutSource.objects.select_related("transfer__payment__checkout", "transfer__x402_payment")
    sources = sources.prefetch_related(Prefetch("transfer__inbox_items", items)).order_by("-transfer")
    approvals = PayoutApproval.objects.order_by("pk")
    return found.select_related("merchant", "movement__wallet").prefetch_related(
        Prefetch("sources", sources), Prefetch("approvals", approvals)
    )


def _source(payout: Payout) -> dict[str, Any] | None:
    sources = list(payout.sources.all())
    if not sources:
        return None
    newest = sources[0].transfer
    payment = getattr(newest, "payment", None)
    items = [item.checkout for item in newest.inbox_items.all() if item.checkout]
    checkout = payment.checkout if payment else next(iter(items), None)
    machine = getattr(newest, "x402_payment", None)
    return {
        "checkout": checkout.public_id if checkout else None,
        "x402_payment": machine.public_id if machine else None,
        "transfers": [serializers.PayoutTransfer.of(source) for source in sources],
    }


def _approvals(payout: Payout, approvers: set[int], *, may_be_lost: bool) -> dict[str, int]:
    """Return how many approvals count, as `payouts.approvals.service.standing_approvals` says; void ones do not."""
    need = needed_approvals(payout)
    others = approvers - {payout.requested_by_id} if need > 1 else approvers
    counted = [one for one in payout.approvals.all() if one.revision == payout.revision and one.user_id in others]
    have = standing_approvals(payout).count() if may_be_lost else len(counted)
    return {"have": have, "need": need, "revision": payout.revision}


def _claim_url(payout: Payout, code: str) -> str | None:
    known = code or claim_code(payout)
    return claim_url(known) if known else None
