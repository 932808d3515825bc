"""Queries of links: one by id or code, a page, their totals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import Case, Count, Exists, F, Model, OuterRef, Q, QuerySet, Sum, When
from django.db.models.functions import Coalesce

from accounts.brand.facts import with_brand
from accounts.states import Mode
from checkouts.lifecycle.escrow import holdable
from checkouts.models import Checkout
from checkouts.rows import doubted_checkouts
from checkouts.selectors import keeping_money
from checkouts.states import LIVE, CheckoutException, CheckoutStatus
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.pagination import Page, parse_page
from gateway.core.currencies import USD
from gateway.core.money import format_token
from gateway.core.postgres.words import newest_with_words
from links import serializers
from links.models import LinkCheckout, LinkTemplate, PaymentLink, Subscription
from links.states import LinkStatus, LinkType, Standing
from wallets.selectors import Offerable, offerable_chains

M = TypeVar("M", bound=Model)
_STANDINGS: Final = {CheckoutException.REVERSED: Standing.REVERSED}
SEARCHED: Final = "title || ' ' || description"
"""SQL of a link's texts whose words are found, as its index `link_words` has them."""

INVOICE_SLOT: Final = "invoice"
"""The one slot of an invoice."""

_PAID_AT = Coalesce("checkout__paid_at", "checkout__replaced_by__paid_at")


@dataclass(frozen=True, slots=True)
class Takings:
    """The number of a link's completed payments, and their sum."""

    count: int = 0
    amount: Decimal = Decimal(0)


NOTHING: Final = Takings()


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """The filters of a list of links."""

    merchant_id: int
    mode: Mode
    status: LinkStatus | None


def parse_filter(merchant_id: int, mode: Mode, query: Mapping[str, str]) -> tuple[LinkFilter, Page]:
    """Read a list's query string. Raises InvalidRequestError."""
    status = query.get("status") or None
    if status is not None and status not in LinkStatus.values:
        known = ", ".join(LinkStatus.values)
        raise InvalidRequestError(f"status must be one of {known}.", param="status")
    wanted = LinkFilter(merchant_id, mode, LinkStatus(status) if status else None)
    return wanted, parse_page(query)


def links_of(wanted: LinkFilter) -> QuerySet[PaymentLink]:
    """Return the links that match a filter."""
    links = PaymentLink.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    return links if wanted.status is None else links.filter(status=wanted.status)


def templates_of(merchant_id: int, mode: Mode) -> QuerySet[LinkTemplate]:
    """Return a merchant's templates."""
    return LinkTemplate.objects.filter(merchant=merchant_id, mode=mode)


def payment_link(merchant_id: int, mode: Mode, public_id: str) -> PaymentLink:
    """Return one link. Raises NotFoundError, also for another merchant's or the other mode's."""
    links = with_brand(PaymentLink.objects.select_related("template"))
    return _one(links.filter(merchant=merchant_id, mode=mode), public_id, param="link_id")


def link_template(merchant_id: int, mode: Mode, public_id: str, *, param: str = "template_id") -> LinkTemplate:
    """Return one template. Raises NotFoundError naming `param`."""
    return _one(templates_of(merchant_id, mode), public_id, param=param)


def _one(rows: QuerySet[M], public_id: str, *, param: str) -> M:
    # PostgreSQL would refuse a statement with a NUL in it.
    found = None if "\x00" in public_id else rows.filter(public_id=public_id).first()
    if found is None:
        raise NotFoundError(f"There is no {public_id} here.", param=param)
    return found


def link_object(link: PaymentLink) -> dict[str, Any]:
    """Return the API's object for a link; its merchant and template are loaded."""
    return _shown(link, takings_of([link]).get(link.pk, NOTHING))


def _shown(link: PaymentLink, takings: Takings) -> dict[str, Any]:
    return serializers.PaymentLink.of(link, payments_count=takings.count, amount_collected=format_token(takings.amount))


def link_page(wanted: LinkFilter, page: Page) -> list[dict[str, Any]]:
    """Return a page of links, newest first. Raises InvalidRequestError for an unknown starting_after."""
    rows = with_brand(links_of(wanted)).select_related("template")
    # One whose status changed since still marks a position in the list.
    mine = PaymentLink.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    links = _page_of(rows, page, among=mine)
    takings = takings_of(links)
    return [_shown(link, takings.get(link.pk, NOTHING)) for link in links]


def template_page(merchant_id: int, mode: Mode, page: Page) -> list[dict[str, Any]]:
    """Return a page of templates, newest first. Raises InvalidRequestError for an unknown starting_after."""
    mine = templates_of(merchant_id, mode)
    rows = _page_of(mine, page, among=mine)
    return list(map(serializers.LinkTemplate.of, rows))


def _page_of(rows: QuerySet[M], page: Page, *, among: QuerySet[M]) -> list[M]:
    """Return a page of rows; `among` has all rows that `starting_after` may name."""
    offset = page.offset
    if page.starting_after is not None:
        seen = among.filter(public_id=page.starting_after).values_list("pk", flat=True)
        key = seen.first()
        if key is None:
            raise InvalidRequestError("starting_after names nothing of yours.", param="starting_after")
        rows, offset = rows.filter(pk__lt=key), 0
    return list(rows.order_by("-pk")[offset : offset + page.limit])


def _completed(rows: QuerySet[LinkCheckout]) -> QuerySet[LinkCheckout]:
    """Return the paid ones, with `received`: in time, or late and accepted by a successor."""
    in_time = Q(checkout__status=CheckoutStatus.COMPLETED)
    late = Q(checkout__replaced_by__status=CheckoutStatus.COMPLETED)
    return rows.filter(in_time | late).annotate(
        received=Case(
            When(in_time, then=F("checkout__amount_received")), default=F("checkout__replaced_by__amount_received")
        )
    )


def takings_of(links: Sequence[PaymentLink]) -> dict[int, Takings]:
    """Return each link's totals, in one query of the checkouts themselves, so that they are always current.

    A reorg reduces a checkout's sum, and so this one. A payment that it took back whole does not count.
    """
    paid = _completed(LinkCheckout.objects.filter(link__in=[one.pk for one in links]))
    rows = paid.filter(~Q(received=0)).values("link").annotate(count=Count("pk"), amount=Sum("received"))
    return {row["link"]: Takings(row["count"], row["amount"]) for row in rows}


def attempts_of(link: PaymentLink, slot: str, *, first_of: Subscription | None = None) -> list[LinkCheckout]:
    """Return the attempts to pay a slot, newest first, their checkouts loaded.

    `first_of` is a subscriber who never paid: then what the link's own page began for them is among these.
    """
    ours = Q(slot=slot) if first_of is None else Q(slot=slot) | Q(subscription=first_of)
    return list(LinkCheckout.objects.filter(ours, link=link).select_related("checkout").order_by("-pk"))


def present_checkout(link: PaymentLink, attempts: Sequence[LinkCheckout], amount: Decimal | None) -> Checkout | None:
    """Return the checkout that another press of Pay leads to; None if it makes a new one.

    `attempts` are those of its slot, newest first. That is the last one if it is open or paid. While money for an expired one of this
    price is here, it is that one, unless the last one has money too: another checkout would ask for the price twice, and its page says
    what becomes of the money.
    """
    if not attempts:
        return None
    last = attempts[0]
    if last.checkout.status in {CheckoutStatus.PENDING, CheckoutStatus.EXPIRED}:
        price = "amount" if link.currency == USD else "price"
        same = {price: amount, "currency": link.currency, "pk__in": [one.checkout_id for one in attempts]}
        if kept := keeping_money(Checkout.objects.filter(**same)):
            return kept
    return None if last.checkout.status == CheckoutStatus.EXPIRED else last.checkout


def kept_checkout(link: PaymentLink) -> Checkout | None:
    """Return the expired checkout of an invoice whose money is here: the page then asks for no price. None for other links."""
    if link.type != LinkType.INVOICE:
        return None
    present = present_checkout(link, attempts_of(link, INVOICE_SLOT), link.amount)
    return present if present is not None and present.status == CheckoutStatus.EXPIRED else None


def payable_chains(link: PaymentLink) -> list[Offerable]:
    """Return the chains that the link's next payment would offer."""
    chains = offerable_chains(link.merchant_id, Mode(link.mode))
    return holdable(chains) if link.escrow else chains


def has_open_checkout(link: PaymentLink) -> bool:
    """Whether the link has an open payment, or one being confirmed."""
    return LinkCheckout.objects.filter(link=link, checkout__status__in=LIVE).exists()


def has_completed_checkout(link: PaymentLink) -> bool:
    """Whether the link was ever paid."""
    return _completed(LinkCheckout.objects.filter(link=link)).exists()


class LastPayment(NamedTuple):
    """The payment that a link's page is about: its checkout's key and page code, and whether it stands.

    `accepted` is what came, in USD, where a person accepted less than the price; else None.
    """

    key: int
    code: str
    standing: Standing
    accepted: Decimal | None = None


def invoice_payments(links: Sequence[PaymentLink]) -> dict[int, LastPayment]:
    """Return the payment that closed each invoice, by link; of several, the last one that was not reversed."""
    rows = LinkCheckout.objects.filter(link__in=[one.pk for one in links if one.type == LinkType.INVOICE])
    found: dict[int, LastPayment] = {}
    for link_id, payment in _payments(rows, "link"):
        if link_id not in found or payment.standing == Standing.PAID or found[link_id].standing != Standing.PAID:
            found[link_id] = payment
    return _doubted(found)


def subscriber_payments(subscription_ids: Sequence[int]) -> dict[int, LastPayment]:
    """Return the last payment of each subscription that was paid."""
    rows = LinkCheckout.objects.filter(subscription__in=subscription_ids)
    return _doubted(dict(_payments(rows, "subscription")))


def _payments(rows: QuerySet[LinkCheckout], owner: str) -> list[tuple[int, LastPayment]]:
    """Return the payments with their owners, oldest first, those in doubt as paid."""
    columns = {
        name: Case(
            When(checkout__status=CheckoutStatus.COMPLETED, then=f"checkout__{field}"),
            default=f"checkout__replaced_by__{field}",
        )
        for name, field in (("key", "id"), ("code", "code"), ("exception", "exception"), ("least", "accepted_amount"))
    }
    paid = _completed(rows).annotate(moment=_PAID_AT, **columns).order_by("moment", "pk")
    return [
        (
            owner_id,
            LastPayment(key, code, _STANDINGS.get(exception, Standing.PAID), None if least is None else received),
        )
        for owner_id, key, code, exception, least, received in paid.values_list(owner, *columns, "received")
    ]


def _doubted(found: dict[int, LastPayment]) -> dict[int, LastPayment]:
    doubted = doubted_checkouts([one.key for one in found.values() if one.standing == Standing.PAID])
    return {
        owner: one._replace(standing=Standing.DOUBTED) if one.key in doubted else one for owner, one in found.items()
    }


def paid_moments(subscription: Subscription) -> list[datetime]:
    """Return when each payment of a subscription completed, in order."""
    return paid_moments_of([subscription.pk]).get(subscription.pk, [])


def paid_moments_of(subscription_ids: Sequence[int]) -> dict[int, list[datetime]]:
    """Return when the payments of each subscription completed, in order, with one query; no key without any."""
    rows = _completed(LinkCheckout.objects.filter(subscription__in=subscription_ids))
    moments = rows.annotate(moment=_PAID_AT).order_by("moment", "pk")
    found: dict[int, list[datetime]] = {}
    for subscription_id, moment in moments.values_list("subscription", "moment"):
        found.setdefault(subscription_id, []).append(moment)
    return found


def paid_by_another_attempt(checkouts: Sequence[Checkout]) -> set[int]:
    """Return the keys of those checkouts whose slot another attempt paid or is paying: what the invoice, the period or the form asked for."""
    in_time = Q(checkout__status__in=(CheckoutStatus.PROCESSING, CheckoutStatus.COMPLETED))
    late = Q(checkout__replaced_by__status=CheckoutStatus.COMPLETED)
    others = LinkCheckout.objects.filter(in_time | late, link=OuterRef("link"), slot=OuterRef("slot"))
    is_reversed = Q(checkout__exception=CheckoutException.REVERSED)
    is_reversed |= Q(checkout__replaced_by__exception=CheckoutException.REVERSED)
    standing = others.exclude(pk=OuterRef("pk")).exclude(is_reversed)
    found = LinkCheckout.objects.filter(Exists(standing), checkout__in=[one.pk for one in checkouts])
    return set(found.values_list("checkout_id", flat=True))


def links_with_words(merchant_id: int, mode: Mode, text: str, *, most: int) -> list[int]:
    """Return the primary keys of a merchant's newest links whose title and description have all words of a text."""
    return newest_with_words("links_paymentlink", SEARCHED, text, merchant_id=merchant_id, mode=mode, most=most)


def checkouts_of_link(merchant_id: int, mode: Mode, link_id: str) -> QuerySet[LinkCheckout, int]:
    """Return the primary keys of the checkouts of a merchant's link; none if it has no link of this id."""
    found = LinkCheckout.objects.filter(link__merchant=merchant_id, link__mode=mode, link__public_id=link_id)
    return found.values_list("checkout_id", flat=True)
