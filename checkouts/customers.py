"""A merchant's customers: checkouts by a reference, an e-mail address or a paying address, what they add up to, and notes.

A customer is no row: it is what its checkouts have in common. Two kinds of the same person are two customers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.team.access import Seat
from accounts.team.permissions import Act
from checkouts.models import REFERENCE_LENGTH, Checkout, CustomerNote, Payment
from checkouts.search import SEARCHED, addresses_in, searchable
from checkouts.states import CustomerKind
from gateway.core.postgres.words import MOST_READ, newest_with_words
from wallets.models import Transfer

MOST_SUMMED: Final = MOST_READ
"""So many of a customer's newest checkouts are added up."""

_LONGEST_EMAIL: Final = 254
_MOST_NOTED: Final = 25
# Of an audit entry's object.
_LONGEST_OBJECT: Final = 80


@dataclass(frozen=True, slots=True)
class Customer:
    """A customer of a merchant and mode, by the canonical form of what identifies it."""

    kind: CustomerKind
    value: str


@dataclass(frozen=True, slots=True)
class CustomerSums:
    """What a customer's checkouts add up to, in USD. With `is_cut` there are more than were added up."""

    checkouts: int
    completed: int
    paid: Decimal
    first_at: datetime
    last_paid_at: datetime | None
    is_cut: bool


def named_customer(seat: Seat, kind: CustomerKind, value: str) -> Customer | None:
    """Return the customer that a text names; None if it cannot name one, or the person may not see e-mail addresses."""
    value = searchable(value)
    if kind == CustomerKind.EMAIL:
        is_readable = "@" in value and len(value) <= _LONGEST_EMAIL and seat.can(Act.RUN_PAYMENTS)
        return Customer(kind, value.lower()) if is_readable else None
    if kind == CustomerKind.ADDRESS:
        # One text is one address on all EVM chains, and on one chain elsewhere.
        spelled = sorted(addresses_in(value))
        return Customer(kind, spelled[0]) if spelled else None
    return Customer(kind, value) if 0 < len(value) <= REFERENCE_LENGTH else None


def customer_url(seat: Seat, customer: Customer) -> str:
    """Return the address of a customer's page."""
    return f"{seat.url('dashboard_customers')}?{urlencode({customer.kind.value: customer.value})}"


def checkouts_of(seat: Seat, customer: Customer) -> QuerySet[Checkout]:
    """Return a customer's checkouts of the merchant and mode; of an e-mail address the newest MOST_SUMMED."""
    mine = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    if customer.kind == CustomerKind.REF:
        return mine.filter(customer_ref=customer.value, customer_ref__gt="")
    if customer.kind == CustomerKind.EMAIL:
        return mine.filter(pk__in=_emailed(seat, customer.value), customer_email__iexact=customer.value)
    sent = Transfer.objects.filter(merchant=seat.merchant, mode=seat.mode, sender=customer.value)
    keys = list(sent.order_by("-pk").values_list("pk", flat=True)[:MOST_SUMMED])
    # Keys first: a list of keys is looked up in an index, while a join may be planned as a scan.
    paid = Payment.objects.filter(transfer__in=keys).values_list("checkout_id", flat=True)
    return mine.filter(pk__in=list(paid))


def _emailed(seat: Seat, email: str) -> list[int]:
    """Return the checkouts that have all words of an address somewhere, by the index of words."""
    return newest_with_words(
        "checkouts_checkout", SEARCHED, email, merchant_id=seat.merchant.pk, mode=seat.mode, most=MOST_SUMMED
    )


def customers_named(seat: Seat, text: str) -> Iterator[Customer]:
    """Return the customers that a text names and that have checkouts, of each kind."""
    named = (named_customer(seat, kind, text) for kind in CustomerKind)
    return (one for one in named if one and checkouts_of(seat, one).exists())


def customer_sums(found: QuerySet[Checkout]) -> CustomerSums | None:
    """Return what a customer's checkouts add up to; None if there are none."""
    keys = list(found.order_by("-pk").values_list("pk", flat=True)[: MOST_SUMMED + 1])
    if not keys:
        return None
    sums = Checkout.objects.filter(pk__in=keys[:MOST_SUMMED]).aggregate(
        checkouts=Count("pk"),
        completed=Count("pk", filter=Q(paid_at__isnull=False)),
        # What an expired checkout had is its successor's now.
        paid=Coalesce(Sum("amount_received", filter=Q(replaced_by=None)), Decimal(0)),
        first_at=Min("created_at"),
        last_paid_at=Max("paid_at"),
    )
    return CustomerSums(**sums, is_cut=len(keys) > MOST_SUMMED)


def customer_note(seat: Seat, customer: Customer) -> CustomerNote | None:
    """Return the team's note about a customer, with its author."""
    notes = CustomerNote.objects.filter(
        merchant=seat.merchant, mode=seat.mode, kind=customer.kind, value=customer.value
    )
    return notes.select_related("author").first()


def noted_customers(seat: Seat) -> list[tuple[Customer, datetime]]:
    """Return the customers with the newest notes, and when each was written; e-mail addresses only to who may see them."""
    notes = CustomerNote.objects.filter(merchant=seat.merchant, mode=seat.mode)
    if not seat.can(Act.RUN_PAYMENTS):
        notes = notes.exclude(kind=CustomerKind.EMAIL)
    found = notes.order_by("-written_at", "-pk").values_list("kind", "value", "written_at")[:_MOST_NOTED]
    return [(Customer(CustomerKind(kind), value), at) for kind, value, at in found]


@transaction.atomic
def write_customer_note(seat: Seat, customer: Customer, text: str, *, actor: Actor, now: datetime) -> bool:
    """Replace the team's note about a customer, or remove it if `text` is empty; return whether anything changed.

    The audit log records the author and both texts. `text` has at most `MOST_LETTERS` characters.
    """
    # Locks the merchant, so that of two concurrent writers, the second one's audit entry has the first one's text.
    Merchant.objects.select_for_update(no_key=True).get(pk=seat.merchant.pk)
    known = customer_note(seat, customer)
    before = known.text if known else ""
    if text == before:
        return False
    identity: dict[str, Any] = {
        "merchant": seat.merchant,
        "mode": seat.mode,
        "kind": customer.kind,
        "value": customer.value,
    }
    if text:
        values = {"text": text, "author": actor.person, "written_at": now}
        CustomerNote.objects.update_or_create(**identity, defaults=values)
    else:
        CustomerNote.objects.filter(**identity).delete()
    record(
        seat.merchant,
        action="customer.note_written",
        actor=actor,
        object_id=known_as(customer),
        before={"note": before},
        after={"note": text},
        now=now,
    )
    return True


def known_as(customer: Customer) -> str:
    """Return how the audit log names a customer, which viewers read too: an e-mail address is not told."""
    return "an e-mail address" if customer.kind == CustomerKind.EMAIL else customer.value[:_LONGEST_OBJECT]
