"""The overview page: figures, notices, onboarding."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.team.permissions import Act
from accounts.team.seats import SeatedRequest, seated
from checkouts.dashboard.attention import notices_of
from checkouts.dashboard.capacity import SHORT_FROM, capacities_of
from checkouts.dashboard.figures import RANGES, figures_of
from checkouts.dashboard.onboarding import onboarding_of
from checkouts.exact_amounts import CAPACITY
from checkouts.lifecycle.counts import day_of
from gateway.core.postgres.replica import reads_replica
from reports.dashboard.chart import chart_of
from reports.dashboard.latest import latest_of

_USUAL_DAYS = 30


@seated(get=Act.SEE)
@reads_replica
def overview(request: SeatedRequest) -> HttpResponse:
    """Show the merchant's overview."""
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
        "latest": latest_of(request.seat),
    }
    return render(request, "dashboard/overview.html", context)


@seated(get=Act.SEE)
def latest(request: SeatedRequest) -> HttpResponse:
    """Return the latest payments; empty if nothing changed."""
    shown = latest_of(request.seat)
    if request.GET.get("seen") == shown.digest():
        return HttpResponse(status=204)
    return render(request, "dashboard/overview_latest.html", {"latest": shown})
