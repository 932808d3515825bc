"""The status page and its JSON. Both are public."""

from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from gateway.status.report import CACHE_SECONDS, as_json, current_report
from wallets.networks import chains
from wallets.states import ChainStatus


@require_safe
@cache_control(public=True, max_age=CACHE_SECONDS)
def status_page(request: HttpRequest) -> HttpResponse:
    """Show the state; 503 if the database does not answer, because nothing works then."""
    try:
        report = current_report()
    except DatabaseError:
        shown = _marked({"unknown": True}, is_well=False)
        return render(request, "status.html", shown, status=503)
    titles = {name: spec.title for name, spec in chains().items()}
    incidents = [(each, titles.get(each.chain, each.chain)) for each in report.incidents]
    shown = {"report": report, "incidents": incidents}
    is_well = report.overall == ChainStatus.OK
    return render(request, "status.html", _marked(shown, is_well=is_well))


def _marked(shown: dict[str, Any], *, is_well: bool) -> dict[str, Any]:
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
