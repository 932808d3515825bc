"""The page of one link: totals, sharing, status."""

from types import MappingProxyType
from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.team.permissions import Act
from accounts.team.seats import SeatedRequest, seated
from checkouts.page.qr import qr_code
from gateway.core.api.errors import InvalidRequestError
from links.dashboard.access import found_link, person_of
from links.dashboard.details import detail_of
from links.dashboard.subscribers import subscriber_page
from links.editing.forms import parse_status
from links.editing.service import set_status
from links.page.qr_images import qr_png, qr_svg
from links.payloads import link_url
from links.selectors import payable_chains
from links.states import LinkStatus, LinkType

_TOLD: Final = MappingProxyType(
    {
        LinkStatus.ACTIVE: "The link is open for payments.",
        LinkStatus.PAUSED: "The link is paused and takes no payments.",
        LinkStatus.ARCHIVED: "The link is archived and takes no payments.",
    }
)
_IMAGES: Final = MappingProxyType({"png": (qr_png, "image/png"), "svg": (qr_svg, "image/svg+xml")})


@seated(get=Act.SEE)
def link(request: SeatedRequest, *, link_id: str) -> HttpResponse:
    """Show one link."""
    seat = request.seat
    found = found_link(seat, link_id)
    detail = detail_of(found)
    context: dict[str, Any] = {
        "detail": detail,
        "link": found,
        "qr": qr_code(detail.url),
        "is_payable": bool(payable_chains(found)),
    }
    if found.type == LinkType.SUBSCRIPTION:
        query = request.GET.dict()
        context["subscribers"] = subscriber_page(found, seat, query, now=timezone.now())
    return render(request, "dashboard/links/detail.html", context)


@seated(post=Act.RUN_PAYMENTS)
def set_link_status(request: SeatedRequest, *, link_id: str, status: str) -> HttpResponse:
    """Pause, archive or activate a link."""
    found = found_link(request.seat, link_id)
    try:
        wanted = parse_status({"status": status})
    except InvalidRequestError as error:
        raise Http404 from error
    set_status(found, wanted, now=timezone.now(), by=person_of(request))
    messages.success(request, _TOLD[wanted])
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
