"""The state of the installation for people outside it: the page and its JSON. Both are public, without data of a merchant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Condition
from typing import Any, Final

from cachetools import TTLCache, cached
from django.db import DatabaseError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from gateway.core.times import iso, iso_or_none
from gateway.status.incidents import OngoingTrouble, find_troubles
from gateway.status.models import Incident, IncidentKind
from rates.models import RateTrouble
from rates.selectors import has_prices, open_troubles
from wallets.disruptions import Disruption, Reader, Told, chain_disruptions, tell
from wallets.networks import known_chains
from wallets.selectors import ChainHealth, chain_health
from wallets.states import ChainStatus, DownReason
from webhooks.selectors import usual_delivery_seconds

CACHE_SECONDS: Final = 5
SHOWN: Final = timedelta(days=30)
_MOST_INCIDENTS: Final = 20


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What the page shows. `webhook_seconds` is the median of the last hour, None after few webhooks."""

    checked_at: datetime
    chains: Sequence[ChainHealth]
    troubles: Sequence[OngoingTrouble]
    webhook_seconds: float | None
    incidents: Sequence[Incident]
    disruptions: Sequence[Disruption] = ()
    # Of prices in other currencies than USD: those that cannot be converted, and since when. None where there are no such prices.
    rates: Sequence[RateTrouble] | None = None

    @property
    def overall(self) -> ChainStatus:
        """Return the worst state of any part."""
        states = {chain.status for chain in self.chains}
        if ChainStatus.DOWN in states:
            return ChainStatus.DOWN
        is_well = not self.troubles and states <= {ChainStatus.OK}
        return ChainStatus.OK if is_well else ChainStatus.DELAYED

    @property
    def told(self) -> list[Told]:
        """Say what disrupts the chains, the most serious first, in the words that buyers read on their pages."""
        return [tell(one, Reader.BUYER) for one in self.disruptions]

    @property
    def is_halted(self) -> bool:
        """Return whether a chain was stopped, because it contradicts what was read."""
        return any(chain.reason == DownReason.HALTED for chain in self.chains)

    @property
    def credits_since(self) -> datetime | None:
        """Return since when payments wait to be credited; None if they do not."""
        return self._since(IncidentKind.CREDITS)

    @property
    def webhooks_since(self) -> datetime | None:
        """Return since when a due webhook waits; None if none does."""
        return self._since(IncidentKind.WEBHOOKS)

    def _since(self, kind: IncidentKind) -> datetime | None:
        return next((each.since for each in self.troubles if each.kind == kind), None)


def make_report(*, now: datetime) -> StatusReport:
    """Read the state from the database."""
    lately = Q(ended_at=None) | Q(ended_at__gte=now - SHOWN)
    incidents = Incident.objects.filter(lately).exclude(kind=IncidentKind.GAS).order_by("-began_at", "-pk")
    chains = chain_health(now=now)
    return StatusReport(
        checked_at=now,
        chains=chains,
        troubles=find_troubles(chains, now=now),
        webhook_seconds=usual_delivery_seconds(now=now),
        incidents=list(incidents[:_MOST_INCIDENTS]),
        disruptions=chain_disruptions(now=now),
        rates=open_troubles(now=now) if has_prices() else None,
    )


@cached(TTLCache(1, CACHE_SECONDS), condition=Condition())
def current_report() -> StatusReport:
    """Return a report that is some seconds old at most. Requests that come together wait for one."""
    return make_report(now=timezone.now())


def as_json(report: StatusReport) -> dict[str, Any]:
    """Return the report as the JSON answer has it."""
    return _with_rates(report) | {
        "status": report.overall,
        "checked_at": iso(report.checked_at),
        "disruptions": [told.as_json() for told in report.told],
        "chains": [
            {
                "chain": chain.chain,
                "status": chain.status,
                "reason": chain.reason,
                "blocks_behind": chain.blocks_behind,
                "known_until": iso_or_none(chain.known_until),
                "sources_disagree_since": iso_or_none(chain.disagreeing_since),
            }
            for chain in report.chains
        ],
        "credits": {"late_since": iso_or_none(report.credits_since)},
        "webhooks": {"late_since": iso_or_none(report.webhooks_since), "median_seconds": report.webhook_seconds},
        "incidents": [
            {
                "kind": incident.kind,
                "chain": incident.chain or None,
                "stopped": incident.stopped,
                "halted": incident.halted,
                "began_at": iso(incident.began_at),
                "ended_at": iso_or_none(incident.ended_at),
            }
            for incident in report.incidents
        ],
    }


def _with_rates(report: StatusReport) -> dict[str, Any]:
    """Return `rates`; nothing where all prices are in USD."""
    if report.rates is None:
        return {}
    missing = [{"currency": one.currency, "since": iso(one.began_at)} for one in report.rates]
    return {"rates": {"unavailable": missing}}


@require_safe
@cache_control(public=True, max_age=CACHE_SECONDS)
def status_page(request: HttpRequest) -> HttpResponse:
    """Show the state; 503 if the database does not answer, because nothing works then."""
    try:
        report = current_report()
    except DatabaseError:
        shown = _with_icon({"unknown": True}, is_well=False)
        return render(request, "gateway/status.html", shown, status=503)
    titles = {name: spec.title for name, spec in known_chains().items()}
    incidents = [(each, titles.get(each.chain, each.chain)) for each in report.incidents]
    shown = {"report": report, "incidents": incidents}
    is_well = report.overall == ChainStatus.OK
    return render(request, "gateway/status.html", _with_icon(shown, is_well=is_well))


def _with_icon(shown: dict[str, Any], *, is_well: bool) -> dict[str, Any]:
    """Add the page's icon and its colour."""
    icon, mark = ("check", "ok") if is_well else ("alert", "warn")
    return shown | {"icon": icon, "mark": mark}


@require_safe
@cache_control(public=True, max_age=CACHE_SECONDS)
def status_json(_request: HttpRequest) -> JsonResponse:
    """Return the same for programs."""
    try:
        return JsonResponse(as_json(current_report()))
    except DatabaseError:
        return JsonResponse({"status": "unknown"}, status=503)
