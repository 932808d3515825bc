"""The merchant's audit log page, with its verification."""

from dataclasses import dataclass
from itertools import chain
from typing import Final

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from accounts.audit.chain import verify_audit_log
from accounts.audit.words import ACTIONS, action_words, changed_values
from accounts.models import AuditEntry
from accounts.team.permissions import Act
from accounts.team.seats import SeatedRequest, seated
from accounts.team.selectors import team_of
from gateway.core import json
from gateway.core.api.keyset import chunks_by_key, keyset_page
from gateway.core.csv_files import csv_response
from gateway.core.times import iso

_HEADER: Final = ("time", "person", "action", "object", "before", "after", "address")
# The filter for acts without a person: a command, a key, the system.
_NOBODY: Final = "nobody"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The log's filters: a person's public id (or `nobody`), and an action's code; empty for all."""

    person: str
    action: str


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """One entry as the page shows it."""

    entry: AuditEntry
    words: str
    changes: list[tuple[str, str | None, str | None]]


@seated(get=Act.SEE)
def audit_log(request: SeatedRequest) -> HttpResponse:
    """Show the log, newest first."""
    wanted = _wanted(request)
    query = {name: value for name, value in request.GET.dict().items() if value}
    page = keyset_page(_entries(request, wanted), query)
    context = {
        "entries": [_shown(entry) for entry in page.rows],
        "pager": page,
        "wanted": wanted,
        "people": _people(request, wanted),
        "actions": _actions(wanted),
        "is_narrowed": bool(wanted.person or wanted.action),
    }
    return render(request, "dashboard/audit/list.html", context)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send the filtered log as a CSV file."""
    chunks = chunks_by_key(_entries(request, _wanted(request)))
    name = f"audit-log-{request.seat.merchant.public_id}"
    return csv_response(name, _HEADER, map(_cells, chain.from_iterable(chunks)))


@seated(get=Act.SEE)
def check(request: SeatedRequest) -> HttpResponse:
    """Compare every entry of the merchant with its seal, as `manage.py verify_audit` does for all."""
    report = verify_audit_log(chain=request.seat.merchant.pk)
    head = report.heads[0] if report.heads else None
    context = {"report": report, "head": head}
    return render(request, "dashboard/audit/check.html", context)


def _wanted(request: SeatedRequest) -> Wanted:
    return Wanted(
        person=request.GET.get("person", "")[:40].replace("\0", ""),
        action=request.GET.get("action", "")[:80].replace("\0", ""),
    )


def _entries(request: SeatedRequest, wanted: Wanted) -> QuerySet[AuditEntry]:
    entries = AuditEntry.objects.filter(merchant=request.seat.merchant)
    entries = entries.select_related("actor")
    if wanted.person == _NOBODY:
        entries = entries.filter(actor=None)
    elif wanted.person:
        entries = entries.filter(actor__public_id=wanted.person)
    if wanted.action:
        entries = entries.filter(action=wanted.action)
    return entries


def _people(request: SeatedRequest, wanted: Wanted) -> list[tuple[str, str]]:
    """Return the people to filter by: the team, and the currently selected one."""
    team = [seat.user for seat in team_of(request.seat.merchant)]
    people = {person.public_id: person.email for person in team}
    if wanted.person and wanted.person != _NOBODY and wanted.person not in people:
        people[wanted.person] = "A person outside the team"
    return [*people.items(), (_NOBODY, "No person: keys, commands, the system")]


def _actions(wanted: Wanted) -> list[tuple[str, str]]:
    actions = dict(ACTIONS)
    if wanted.action:
        actions.setdefault(wanted.action, action_words(wanted.action))
    return sorted(actions.items(), key=lambda pair: pair[1])


def _shown(entry: AuditEntry) -> ShownEntry:
    return ShownEntry(entry=entry, words=action_words(entry.action), changes=changed_values(entry.before, entry.after))


def _cells(entry: AuditEntry) -> list[object]:
    return [
        iso(entry.created_at),
        entry.actor_label,
        entry.action,
        entry.object_id,
        _json(entry.before),
        _json(entry.after),
        entry.address,
    ]


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value).decode()
