"""Queries of machines' payments: a page, with filters."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.pagination import Page, parse_text, parse_time
from wallets.networks import machine_tokens
from wallets.transfers.selectors import parse_chain, parse_token
from x402.models import X402Payment
from x402.states import PaymentStatus


@dataclass(frozen=True, slots=True)
class PaymentFilter:
    """The filters of a list of payments. Empty texts exclude nothing."""

    merchant_id: int
    mode: Mode
    chain: str = ""
    token: str = ""
    status: str = ""
    resource: str = ""
    created_after: datetime | None = None
    created_before: datetime | None = None


def parse_filter(merchant_id: int, mode: Mode, query: Mapping[str, str]) -> PaymentFilter:
    """Parse a list's filters. Raises InvalidRequestError naming the parameter."""
    status = parse_text(query, "status") or ""
    if status and status not in PaymentStatus.values:
        known = ", ".join(PaymentStatus.values)
        raise InvalidRequestError(f"status must be one of {known}.", param="status")
    return PaymentFilter(
        merchant_id=merchant_id,
        mode=mode,
        chain=parse_chain(query),
        token=parse_token(query, known=machine_tokens()),
        status=status,
        resource=parse_text(query, "resource") or "",
        created_after=parse_time(query, "created_after"),
        created_before=parse_time(query, "created_before"),
    )


def payments_of(wanted: PaymentFilter) -> QuerySet[X402Payment]:
    """Return the payments that match a filter, newest first."""
    found = X402Payment.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode).order_by("-pk")
    equal = {name: value for name in ("chain", "token", "status", "resource") if (value := getattr(wanted, name))}
    found = found.filter(**equal)
    if wanted.created_after is not None:
        found = found.filter(verified_at__gt=wanted.created_after)
    if wanted.created_before is not None:
        found = found.filter(verified_at__lt=wanted.created_before)
    return found


def payment_page(wanted: PaymentFilter, page: Page) -> list[X402Payment]:
    """Return one page of a list. Raises InvalidRequestError for an unknown `starting_after`."""
    found = payments_of(wanted)
    if page.starting_after is None:
        return list(found[page.offset : page.offset + page.limit])
    mine = X402Payment.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    start = mine.filter(public_id=page.starting_after).first()
    if start is None:
        raise InvalidRequestError("starting_after names no payment.", param="starting_after")
    return list(found.filter(pk__lt=start.pk)[: page.limit])
