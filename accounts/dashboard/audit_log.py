"""The merchant's audit log page, with its texts and its verification."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from accounts.audit.chain import verify_audit_log
from accounts.models import AuditEntry
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from accounts.team.selectors import team_of
from gateway.core import json as core_json
from gateway.core.api.pagination import chunks_by_key, keyset_page
from gateway.core.exports import csv_response
from gateway.core.times import iso

ACTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "api_key.created": "API key created",
        "api_key.revoked": "API key revoked",
        "receiving_wallet.set": "Receiving wallet set",
        "receiving_wallet.change_requested": "Change of receiving wallet requested",
        "receiving_wallet.change_cancelled": "Wallet change cancelled",
        "receiving_wallet.change_failed": "Wallet change refused",
        "receiving_wallet.proof_asked": "Wallet proof requested",
        "receiving_wallet.proven": "Wallet proven by a signature",
        "receiving_wallet.taken_over": "Wallet taken over by a proof",
        "receiving_wallet.refused": "Wallet no longer offered: its network says that it loses money",
        "x402.requirements_set": "Machines' signatures switched",
        "x402.wallet_set": "Wallet for machines set",
        "watched_wallet.added": "Watched wallet added",
        "watched_wallet.changed": "Watched wallet renamed",
        "watched_wallet.removed": "Watched wallet removed",
        "merchant.wallet_change_hours_set": "Delay of wallet changes set",
        "merchant.wallet_change_hours_applied": "Shorter wait took effect",
        "merchant.created": "Merchant created",
        "merchant.branding_changed": "Branding changed",
        "merchant.retry_switched": "Trying again switched",
        "merchant.plan_set": "Plan set by the operator",
        "merchant.receipts_switched": "E-mail receipts switched on or off",
        "merchant.round_price_rivals_switched": "Review of round payments switched on or off",
        "merchant.data_exported": "All data exported",
        "merchant.closed": "Account closed",
        "merchant.reopened": "Account reopened by the operator",
        "invitation.sent": "Invitation sent",
        "invitation.withdrawn": "Invitation withdrawn",
        "invitation.accepted": "Invitation accepted",
        "member.role_changed": "Role changed",
        "member.removed": "Member removed",
        "member.left": "Member left",
        "webhook_url.changed": "Webhook URL changed",
        "webhook_secret.shown": "Webhook secret shown",
        "webhook_secret.rolled": "Webhook secret rotated",
        "payment_link.created": "Payment link created",
        "payment_link.changed": "Payment link changed",
        "payment_link.status_set": "Payment link paused, archived or opened",
        "link_template.created": "Link template saved",
        "link_template.deleted": "Link template deleted",
        "operator.looked": "Operator impersonation started",
        "operator.stopped": "Operator impersonation ended",
        "checkout.cancelled": "Checkout cancelled",
        "checkout.receipt_sent": "Receipt sent",
        "checkout.note_written": "Checkout note edited",
        "checkout.refund_noted": "Refund recorded",
        "escrow.released": "Escrow released",
        "settlement.asked": "Settlement asked for",
        "inbox.decided": "Inbox item decided",
        "inbox.undone": "Inbox decision undone",
        "inbox.done": "Inbox decision took effect",
        "inbox.failed": "Inbox decision refused",
    }
)
"""Labels of common actions; others are shown as their code."""

_EMPTY: Final = (None, "")

_HEADER: Final = ("time", "person", "action", "object", "before", "after", "address")
# The filter for acts without a person: a command, a key, the system.
_NOBODY: Final = "nobody"


def action_words(action: str) -> str:
    """Return the label of an action; without one, its code made readable."""
    plain = action.replace(".", " ").replace("_", " ")
    return ACTIONS.get(action, plain[:1].upper() + plain[1:])


def changed_values(
    before: dict[str, Any] | None, after: dict[str, Any] | None
) -> list[tuple[str, str | None, str | None]]:
    """Return each changed field of an entry: name, old and new value.

    None stands for an absent or empty value.
    """
    then, now = before or {}, after or {}
    return [
        (_name(key), _value(then, key) if then.get(key) not in _EMPTY else None, _value(now, key))
        for key in dict.fromkeys([*then, *now])
        if key not in then or key not in now or then[key] != now[key]
    ]


def _name(key: str) -> str:
    return key.replace("_", " ")


def _value(values: dict[str, Any], key: str) -> str | None:
    if key not in values:
        return None
    match values[key]:
        case None | "":
            return "nothing"
        case True:
            return "on"
        case False:
            return "off"
        case str() | int() | float() as plain:
            return str(plain)
        case nested:
            return json.dumps(nested, ensure_ascii=False)


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
    return render(request, "dashboard/accounts/audit.html", context)


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
    return render(request, "dashboard/accounts/audit_check.html", context)


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
    return None if value is None else core_json.dumps(value).decode()
