"""The page of one link: totals, sharing, subscribers, status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from accounts.audit.actors import actor_of
from accounts.brand.facts import brand_of
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.dashboard.checkout_list import ListedCheckout, listed
from checkouts.models import Checkout, Terminal
from checkouts.page.qr import qr_code, qr_svg
from checkouts.till.pairing import show_link_at
from checkouts.till.paper import asked_guides, asked_paper
from gateway.core.api.errors import ConflictError, InvalidRequestError, NotFoundError
from gateway.core.api.fields import storable
from gateway.core.api.pagination import KeysetPage, keyset_page
from gateway.core.currencies import USD
from gateway.core.json import indented
from gateway.core.money import readable
from gateway.core.web.badges import Badge
from gateway.core.web.form_errors import words_of
from gateway.core.web.language_tags import utc
from links.dashboard.words import KINDS, STANDINGS, ShownLinkType, interval_of, link_badge, price_of, range_of
from links.editing.service import set_status
from links.models import LinkCheckout, LinkTemplate, PaymentLink, Subscription
from links.page.build import LinkStage, stage_of
from links.page.qr_images import qr_png
from links.selectors import (
    NOTHING,
    LastPayment,
    invoice_payments,
    link_template,
    paid_moments_of,
    payable_chains,
    payment_link,
    subscriber_payments,
    takings_of,
)
from links.serializers import NewLinkStatus, share_text
from links.states import Interval, LinkStatus, LinkType
from links.subscriptions.periods import coverage
from links.tokens import link_url, personal_url

_ROWS: Final = 10
_MOST_TERMINALS: Final = 100

LATEST: Final = 10

_TOLD: Final = MappingProxyType(
    {
        LinkStatus.ACTIVE: gettext_noop("The link is open for payments."),
        LinkStatus.PAUSED: gettext_noop("The link is paused and takes no payments."),
        LinkStatus.ARCHIVED: gettext_noop("The link is archived and takes no payments."),
    }
)
_UNPAID: Final = Badge("Not paid yet", "")
_ENDED: Final = Badge("Ended", "warn")
_NOT_FOLLOWED: Final = gettext_noop("Only donations and fixed prices without escrow appear at a terminal.")
_IMAGES: Final = MappingProxyType({"png": (qr_png, "image/png"), "svg": (qr_svg, "image/svg+xml")})


def found_link(seat: Seat, link_id: str) -> PaymentLink:
    """Return a link of the merchant and mode. Raises Http404."""
    try:
        return payment_link(seat.merchant.pk, seat.mode, link_id)
    except NotFoundError as error:
        raise Http404 from error


def found_template(seat: Seat, template_id: str) -> LinkTemplate:
    """Return a template of the merchant and mode. Raises Http404."""
    try:
        return link_template(seat.merchant.pk, seat.mode, template_id)
    except NotFoundError as error:
        raise Http404 from error


@dataclass(frozen=True, slots=True)
class ShownSubscriber:
    """A subscriber. `url` is their personal page, for people who may share it; `until` is None before the first payment."""

    public_id: str
    email: str
    badge: Badge
    until: datetime | None
    payments: int
    url: str


def subscriber_page(
    link: PaymentLink, seat: Seat, query: Mapping[str, str], *, now: datetime
) -> KeysetPage[ShownSubscriber]:
    """Return the subscribers that a query string names by the key of one beside them."""
    found = Subscription.objects.filter(link=link)
    page = keyset_page(found, query, rows=_ROWS)
    keys = [row.pk for row in page.rows]
    moments, payments = paid_moments_of(keys), subscriber_payments(keys)
    for row in page.rows:
        row.link = link
    rows = [_shown(row, moments.get(row.pk, []), payments.get(row.pk), seat, now) for row in page.rows]
    return KeysetPage(rows, newer=page.newer, older=page.older)


def _shown(
    row: Subscription, moments: Sequence[datetime], payment: LastPayment | None, seat: Seat, now: datetime
) -> ShownSubscriber:
    covered = coverage(moments, Interval(row.link.interval))
    until = covered.until if covered else None
    runs = seat.can(Act.RUN_PAYMENTS)
    return ShownSubscriber(
        public_id=row.public_id,
        email=seat.shown(row.email),
        badge=_badge(until, payment, now),
        until=until,
        payments=len(moments),
        url=personal_url(row) if runs else "",
    )


def _badge(until: datetime | None, payment: LastPayment | None, now: datetime) -> Badge:
    if until is None or payment is None:
        return _UNPAID
    return STANDINGS[payment.standing] if now < until else _ENDED


@dataclass(frozen=True, slots=True)
class LinkDetail:
    """A link for its merchant. Amounts are formatted for people."""

    link: PaymentLink
    kind: ShownLinkType
    badge: Badge
    stage: LinkStage
    price: str
    interval: str
    limits: str
    url: str
    share_text: str
    count: int
    collected: str
    facts: tuple[tuple[str, str], ...]
    metadata: str
    checkouts: Sequence[ListedCheckout]

    @property
    def is_cut(self) -> bool:
        """Whether there may be more checkouts than are shown."""
        return len(self.checkouts) == LATEST


def detail_of(link: PaymentLink, seat: Seat) -> LinkDetail:
    """Return the data of a link's page; its merchant and template are loaded."""
    takings = takings_of([link]).get(link.pk, NOTHING)
    payment, price = invoice_payments([link]).get(link.pk), price_of(link)
    return LinkDetail(
        link=link,
        kind=KINDS[LinkType(link.type)],
        badge=link_badge(link, payment),
        stage=stage_of(link, payment),
        price=f"${price}" if price and link.currency == USD else price,
        interval=interval_of(link),
        limits=range_of(link),
        url=link_url(link.code),
        share_text=share_text(link),
        count=takings.count,
        collected=readable(takings.amount),
        facts=_facts(link),
        metadata="" if link.metadata == "{}" else seat.shown(indented(link.metadata)),
        checkouts=_latest(link),
    )


def _latest(link: PaymentLink) -> list[ListedCheckout]:
    keys = LinkCheckout.objects.filter(link=link).order_by("-pk")
    made = Checkout.objects.filter(pk__in=list(keys.values_list("checkout", flat=True)[:LATEST]))
    # Each row's description is the link's title, which the page shows already.
    return [replace(row, subtitle="") for row in listed(made.order_by("-pk"))]


def _facts(link: PaymentLink) -> tuple[tuple[str, str], ...]:
    is_donation = link.type == LinkType.DONATION
    begins_with = readable(link.amount) if is_donation and link.amount else ""
    suggested = ", ".join(readable(Decimal(text)) for text in link.suggested_amounts)
    named = (
        (gettext("Payer may give"), range_of(link)),
        (gettext("Suggested"), suggested),
        (gettext("Default amount"), begins_with),
        ("customer_ref", link.customer_ref),
        ("product_ref", link.product_ref),
        (gettext("Returns to"), link.redirect_url),
        (gettext("Webhooks to"), link.webhook_url),
        (gettext("Escrow"), gettext("Held until you release it") if link.escrow else ""),
        (gettext("Template"), link.template.title if link.template else ""),
        (gettext("Created"), utc(link.created_at)),
        (gettext("Changed"), utc(link.updated_at)),
    )
    return tuple((name, value) for name, value in named if value)


@seated(get=Act.SEE)
def link(request: SeatedRequest, *, link_id: str) -> HttpResponse:
    """Show one link."""
    seat = request.seat
    found = found_link(seat, link_id)
    detail = detail_of(found, request.seat)
    context: dict[str, Any] = {
        "detail": detail,
        "link": found,
        "qr": qr_code(detail.url),
        "is_payable": bool(payable_chains(found)),
        "terminals": _terminals(seat, found),
    }
    if found.type == LinkType.SUBSCRIPTION:
        query = request.GET.dict()
        context["subscribers"] = subscriber_page(found, seat, query, now=timezone.now())
    return render(request, "dashboard/links/detail.html", context)


def _terminals(seat: Seat, link: PaymentLink) -> list[Terminal]:
    """Return the terminals at which a link's checkouts may appear, newest first; for a link that none may follow, the one that does."""
    mine = Terminal.objects.filter(merchant=seat.merchant, mode=seat.mode, revoked_at=None)
    if not link.can_be_followed:
        mine = mine.filter(follows=link.public_id)
    return list(mine.order_by("-pk")[:_MOST_TERMINALS])


@seated(post=Act.RUN_PAYMENTS)
def show_at_terminal(request: SeatedRequest, *, link_id: str) -> HttpResponse:
    """Let a link's later checkouts appear at a terminal, or at none. Raises Http404."""
    seat, found = request.seat, found_link(request.seat, link_id)
    chosen = request.POST.get("terminal", "")
    if not storable(chosen):
        raise Http404
    if chosen and not found.can_be_followed:
        messages.error(request, gettext(_NOT_FOLLOWED))
        return HttpResponseRedirect(seat.url("dashboard_link", link_id=link_id))
    try:
        show_link_at(
            seat.merchant, Mode(seat.mode), found.public_id, chosen, actor=actor_of(request), now=timezone.now()
        )
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(
            request,
            gettext("Later payments appear there.") if chosen else gettext("Later payments appear at no terminal."),
        )
    return HttpResponseRedirect(seat.url("dashboard_link", link_id=link_id))


@seated(post=Act.RUN_PAYMENTS)
def set_link_status(request: SeatedRequest, *, link_id: str, status: str) -> HttpResponse:
    """Pause, archive or activate a link."""
    found = found_link(request.seat, link_id)
    try:
        wanted = NewLinkStatus.read({"status": status})["status"]
    except InvalidRequestError as error:
        raise Http404 from error
    set_status(found, wanted, now=timezone.now(), by=actor_of(request))
    messages.success(request, gettext(_TOLD[wanted]))
    return HttpResponseRedirect(request.seat.url("dashboard_link", link_id=link_id))


@seated(get=Act.SEE)
def qr(request: SeatedRequest, *, link_id: str, format_name: str) -> HttpResponse:
    """Send the QR code of a link's address as a file to print."""
    found = found_link(request.seat, link_id)
    if format_name not in _IMAGES:
        raise Http404
    draw, content_type = _IMAGES[format_name]
    name = f'attachment; filename="{found.public_id}.{format_name}"'
    return HttpResponse(draw(link_url(found.code)), content_type=content_type, headers={"Content-Disposition": name})


@seated(get=Act.SEE)
def sign(request: SeatedRequest, *, link_id: str) -> HttpResponse:
    """Show a link as a sign for a counter or a wall, to print, in the languages of `?language=` and the size of `?paper=`.

    Raises Http404 for an archived one.
    """
    found = found_link(request.seat, link_id)
    if found.status == LinkStatus.ARCHIVED:
        raise Http404
    address, price = link_url(found.code), price_of(found)
    context = {
        "link": found,
        "brand": brand_of(found.merchant),
        "title": found.title,
        "price": f"{price} {USD}" if price and found.currency == USD else price,
        "address": address,
        "qr": qr_code(address),
        **asked_guides(request.GET.getlist("language"), has_price=bool(price)),
        **asked_paper(request.GET.get("paper", "")),
    }
    return render(request, "dashboard/links/sign.html", context)
