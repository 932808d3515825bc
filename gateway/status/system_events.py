"""Events for merchants' servers about the gateway itself: what disrupts their payments, and that it is over.

Incidents are the facts. A merchant gets one event for each stage of an incident, such as late and then stopped, and one for its end if
there was a stage. The occurrences of events are unique, so a pass that is repeated writes nothing twice.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db import transaction
from django.db.models import Q
from django.utils import translation

from accounts.states import Mode
from checkouts.disruptions import disrupted_chains, orders_at_risk
from gateway.core.web.login_languages import ENGLISH
from gateway.status.models import Incident, IncidentKind
from reports.serializers import ActiveDisruption, EndedDisruption
from wallets.disruptions import Disruption, DisruptionKind, Reader, tell
from wallets.networks import chain_spec
from wallets.selectors import receiving_wallets
from wallets.transfers.doubts import doubts
from webhooks.models import LISTED, Endpoint, Event
from webhooks.outbox.events import OptInEvent, publish

DISRUPTED: Final = "system.disrupted"
RECOVERED: Final = "system.recovered"
KINDS: Final = (IncidentKind.CHAIN, IncidentKind.SOURCES, IncidentKind.GAS)
"""The incidents that concern a merchant by its chains."""
ENDS_TOLD: Final = timedelta(days=1)
"""For how long after its end an incident is looked at: no outage of tasks should last longer."""

_ENDED: Final = "ended"


def publish_system_events(*, now: datetime) -> int:
    """Publish what endpoints that chose it were not sent yet about incidents; return how many events were written."""
    lately = Q(ended_at=None) | Q(ended_at__gt=now - ENDS_TOLD)
    incidents = list(Incident.objects.filter(lately, kind__in=KINDS).order_by("pk"))
    merchants = _takers() if incidents else []
    if not merchants:
        return 0
    known = _known(merchants, incidents)
    with transaction.atomic():
        wanted = [event for merchant_id in merchants for event in _events(merchant_id, incidents, known, now)]
        return len(publish(wanted, now=now))


def _takers() -> list[int]:
    """Return the merchants with an endpoint that chose one of the types. Money of test mode depends on no chain."""
    chosen = Endpoint.objects.filter(LISTED, mode=Mode.LIVE, is_default=False, events__overlap=[DISRUPTED, RECOVERED])
    return list(chosen.order_by("merchant").values_list("merchant", flat=True).distinct())


def _known(merchants: Sequence[int], incidents: Sequence[Incident]) -> set[str]:
    """Return the occurrences of these incidents that are written."""
    parts = [*DisruptionKind, _ENDED]
    names = [_occurrence(one, part, merchant) for merchant in merchants for one in incidents for part in parts]
    return set(Event.objects.filter(occurrence__in=names).values_list("occurrence", flat=True))


def _events(
    merchant_id: int, incidents: Sequence[Incident], known: Collection[str], now: datetime
) -> Iterator[OptInEvent]:
    for incident in incidents:
        stage = _stage(incident)
        if incident.ended_at is None:
            name = _occurrence(incident, stage, merchant_id)
            if name not in known and _concerns(merchant_id, incident):
                yield _event(merchant_id, DISRUPTED, name, partial(_disrupted, merchant_id, incident, stage, now))
        elif any(_occurrence(incident, part, merchant_id) in known for part in DisruptionKind):
            name = _occurrence(incident, _ENDED, merchant_id)
            if name not in known:
                yield _event(merchant_id, RECOVERED, name, partial(_recovered, incident, stage))


def _event(merchant_id: int, kind: str, occurrence: str, read: Callable[[], Mapping[str, Any]]) -> OptInEvent:
    # It is about no checkout.
    return OptInEvent(merchant_id, Mode.LIVE, kind, occurrence, read, checkout_id=lambda _subject: "")


def _occurrence(incident: Incident, part: str, merchant_id: int) -> str:
    return f"system:{incident.pk}:{part}:{merchant_id}"


def _stage(incident: Incident) -> DisruptionKind:
    """Return the worst that an incident was so far."""
    if incident.kind == IncidentKind.SOURCES:
        return DisruptionKind.SOURCES_DISAGREE
    if incident.kind == IncidentKind.GAS:
        return DisruptionKind.GAS_LOW
    if incident.halted:
        return DisruptionKind.HALTED
    return DisruptionKind.DOWN if incident.stopped else DisruptionKind.DELAYED


def _concerns(merchant_id: int, incident: Incident) -> bool:
    """Return whether a merchant receives on the chain, or has payments in doubt there. Gas is used for deposit addresses alone."""
    if incident.chain in receiving_wallets(merchant_id):
        return incident.kind != IncidentKind.GAS or not chain_spec(incident.chain).exact_amount_required
    return incident.halted and bool(doubts(chain=incident.chain, merchant_id=merchant_id))


def _disrupted(merchant_id: int, incident: Incident, stage: DisruptionKind, now: datetime) -> Mapping[str, Any]:
    """Return the disruption as `GET /disruptions` has it, in English."""
    found = {(one.kind, one.chain): one for one in disrupted_chains(merchant_id, now=now)}
    one = found.get((stage, incident.chain)) or Disruption(stage, incident.chain, incident.began_at)
    if stage != DisruptionKind.GAS_LOW:
        one = replace(one, orders=orders_at_risk(merchant_id, one))
    with translation.override(ENGLISH):
        words = tell(one, Reader.MERCHANT)
    return ActiveDisruption.of(words, endpoint_id=None, orders_at_risk=one.orders)


def _recovered(incident: Incident, stage: DisruptionKind) -> Mapping[str, Any]:
    given = {"kind": stage, "since": incident.began_at, "until": incident.ended_at}
    return EndedDisruption.of(incident, **given)
