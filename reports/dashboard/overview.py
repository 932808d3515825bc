"""The first page of a merchant: how it goes, what wants attention, what is left to set up."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.permissions import Act
from accounts.seats import Seat, SeatedRequest, seated
from checkouts.dashboard.attention import notices_of
from checkouts.dashboard.capacity import SHORT_FROM, capacities_of
from checkouts.dashboard.figures import RANGES, figures_of
from checkouts.dashboard.listing import ListedCheckout, listed
from checkouts.dashboard.onboarding import onboarding_of
from checkouts.exactamounts import CAPACITY
from checkouts.models import Checkout
from checkouts.services.counts import day_of
from checkouts.states import CheckoutStatus
from reports.dashboard.chart import chart_of

_USUAL_DAYS = 30
_LATEST = 8
_WITH_MONEY = (
    CheckoutStatus.COMPLETED,
    CheckoutStatus.PROCESSING,
    CheckoutStatus.UNDERPAID,
)


@seated(get=Act.SEE)
def overview(request: SeatedRequest) -> HttpResponse:
    """Show the merchant how its payments go."""
    now = timezone.now()
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, RANGES) else _USUAL_DAYS
    figures = figures_of(request.seat, days=days, today=day_of(now))
    capacities = capacities_of(request.seat)
    context = {
        "ranges": RANGES,
        "days": days,
        "figures": figures,
        "chart": chart_of(request.seat, figures),
        "notices": notices_of(request.seat, capacities, now=now),
        "capacities": capacities,
        "capacity": CAPACITY,
        "short_from": SHORT_FROM,
        "onboarding": onboarding_of(request.seat),
        "latest": _latest(request.seat),
    }
    return render(request, "dashboard/overview.html", context)


def _latest(seat: Seat) -> list[ListedCheckout]:
    """The newest checkouts that money came for: each status is a short look into the index that lists it."""
    mine = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    found = [
        checkout
        for status in _WITH_MONEY
        for checkout in mine.filter(status=status).order_by("-pk")[:_LATEST]
    ]
    found.sort(key=lambda checkout: -checkout.pk)
    return listed(found[:_LATEST])
