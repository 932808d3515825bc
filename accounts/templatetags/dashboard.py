"""Template tags of the dashboard: addresses and switches."""

from typing import Any

from allauth.account.adapter import get_adapter
from django import template
from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse

from accounts.fees import service as fees
from accounts.login.devices import device_name
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.access import Seat
from accounts.team.selectors import merchants_of
from gateway.core.web.login_languages import PARAMETER, login_languages

register = template.Library()
_HERE = {"mer_id", "mode"}


@register.simple_tag(takes_context=True)
def seat_url(context: dict[str, Any], name: str, **kwargs: Any) -> str:
    """Return the address of a route of the merchant and mode that the page is about."""
    seat: Seat = context["request"].seat
    return seat.url(name, **kwargs)


@register.simple_tag(takes_context=True)
def may_i(context: dict[str, Any], act: str) -> bool:
    """Return whether the person has a permission of `accounts.team.permissions.Act`, by its value."""
    seat: Seat = context["request"].seat
    return seat.can(act)


@register.simple_tag(takes_context=True)
def in_mode(context: dict[str, Any], mode: str) -> str:
    """Return this page in the other mode; for a page of one object, the page above it, because objects belong to one mode."""
    request = context["request"]
    return _elsewhere(request, {"mode": Mode(mode)})


@register.simple_tag(takes_context=True)
def at_merchant(context: dict[str, Any], merchant: Merchant) -> str:
    """Return this page for another merchant of the person."""
    return _elsewhere(context["request"], {"mer_id": merchant.public_id})


@register.simple_tag(takes_context=True)
def my_merchants(context: dict[str, Any]) -> list[Merchant]:
    """Return the merchants that the person is a team member of."""
    return merchants_of(context["request"].user)


@register.simple_tag(takes_context=True)
def flashes(context: dict[str, Any]) -> list[Any]:
    """Return the previous page's messages, once."""
    return list(messages.get_messages(context["request"]))


@register.simple_tag(takes_context=True)
def signup_open(context: dict[str, Any]) -> bool:
    """Return whether this visitor may create an account."""
    request = context["request"]
    return bool(get_adapter(request).is_open_for_signup(request))


@register.simple_tag
def charges_fees() -> bool:
    """Return whether the operator charges merchants fees."""
    return fees.charges_fees()


register.filter(device_name)
register.simple_tag(login_languages)


@register.simple_tag(takes_context=True)
def kept_query(context: dict[str, Any]) -> str:
    """Return the page's query string without its language, to begin another one with: empty, or ending in `&`."""
    query = context["request"].GET.copy()
    query.pop(PARAMETER, None)
    return f"{query.urlencode()}&" if query else ""


@register.filter
def initials(name: str) -> str:
    """Return one or two initials of a name."""
    words = [word for word in name.replace("@", " ").split() if word[0].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or "?"


def _elsewhere(request: HttpRequest, change: dict[str, Any]) -> str:
    match = request.resolver_match
    seat: Seat = request.seat  # type: ignore[attr-defined]
    here = {"mer_id": seat.merchant.public_id, "mode": seat.mode} | change
    if match is None or set(match.kwargs) != _HERE or request.method != "GET":
        return reverse("dashboard_overview", kwargs=here)
    return reverse(str(match.view_name), kwargs=here)
