"""The merchant's audit log page, with its texts and its verification."""

import json
from collections.abc import Collection, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from accounts.audit.chain import verify_audit_log
from accounts.dashboard.audit_sentences import SENTENCES, names_of
from accounts.models import AuditEntry
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from accounts.team.selectors import team_of
from gateway.core import json as core_json
from gateway.core.api.pagination import chunks_by_key, keyset_page
from gateway.core.exports import csv_response
from gateway.core.times import iso
from gateway.core.web.lists import AnyChoice, FilterForm

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
        "merchant.payout_rules_set": "Rules for approving payouts set",
        "merchant.payout_rules_applied": "Looser rules for approving payouts took effect",
        "merchant.created": "Merchant created",
        "merchant.branding_changed": "Branding changed",
        "merchant.domain_changed": "Shop's domain changed",
        "merchant.retry_switched": "Trying again switched",
        "merchant.plan_set": "Plan set by the operator",
        "merchant.time_zone_set": "Time zone changed",
        "merchant.rate_margin_set": "Margin on converted prices set",
        "merchant.price_currency_set": "Currency of forms set",
        "merchant.receipts_switched": "E-mail receipts switched on or off",
        "merchant.round_price_rivals_switched": "Review of round payments switched on or off",
        "merchant.gas_free_switched": "Payments without a network fee switched on or off",
        "merchant.inbox_rule_switched": "Rule of the inbox switched on or off",
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
        "webhook_endpoint.added": "Webhook endpoint added",
        "webhook_endpoint.changed": "Webhook endpoint changed",
        "webhook_endpoint.deleted": "Webhook endpoint deleted",
        "webhook_endpoint.secret_rotated": "Secret of a webhook endpoint rotated",
        "webhook_secret.shown": "Webhook secret shown",
        "notice_chat.added": "Chat added that gets notices",
        "notice_chat.removed": "Chat removed that got notices",
        "webhook_secret.rolled": "Webhook secret rotated",
        "terminal.added": "Terminal added",
        "terminal.changed": "Terminal changed",
        "terminal.pairing_offered": "Code shown that pairs a device with a terminal",
        "terminal.paired": "Device paired with a terminal",
        "terminal.revoked": "Terminal revoked",
        "payment_link.created": "Payment link created",
        "payment_link.changed": "Payment link changed",
        "payment_link.status_set": "Payment link paused, archived or opened",
        "link_template.created": "Link template saved",
        "link_template.deleted": "Link template deleted",
        "operator.looked": "Operator impersonation started",
        "operator.stopped": "Operator impersonation ended",
        "checkout.cancelled": "Checkout cancelled",
        "checkout.accepted": "Short payment accepted",
        "checkout.acceptance_undone": "Acceptance undone",
        "checkout.acceptance_done": "Acceptance took effect",
        "checkout.acceptance_failed": "Acceptance refused",
        "checkout.receipt_sent": "Receipt sent",
        "checkout.note_written": "Checkout note edited",
        "customer.note_written": "Customer note edited",
        "checkout.refund_noted": "Refund recorded",
        "escrow.released": "Escrow released",
        "settlement.asked": "Settlement asked for",
        "payout.requested": "Refund or payout requested",
        "payout.key_asked": "Day's sum of refunds and payouts that an API key asked for",
        "payout.address_set": "Address of a payout set",
        "payout.address_doubted": "Warning about the address of a payout",
        "payout.approved": "Payout approved",
        "payouts.approved": "List of payouts approved",
        "payout.approval_void": "Approval void: a member who approved may no longer",
        "payout.sent_named": "Refund recorded that was sent before",
        "payout.transaction_named": "Transaction of a payout named",
        "payout.cancelled": "Payout cancelled",
        "payout_batch.made": "Batch of payouts handed out",
        "payout_batch.cancelled": "Batch of payouts cancelled",
        "payout.expired": "Payout expired: nobody gave an address",
        "payout.paid": "Payout found on the chain",
        "payout.paid_twice": "Payout sent a second time",
        "payout.sent_cancelled": "Payout sent after it was cancelled",
        "payout.reversed": "Payout reversed by its network",
        "payout.returned": "Payout's alarm cleared: its network agrees again",
        "payout.amount_accepted": "Other amount of a payout accepted",
        "payout.lost_outflow_accepted": "Payment of a lost time accepted as a payout",
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
    before: dict[str, Any] | None, after: dict[str, Any] | None, said: Collection[str] = ()
) -> list[tuple[str, str | None, str | None]]:
    """Return each changed field of an entry but those that are `said` already: name, old and new value.

    None stands for an absent or empty value.
    """
    then, now = before or {}, after or {}
    return [
        (_name(key), _value(then, key) if then.get(key) not in _EMPTY else None, _value(now, key))
        for key in dict.fromkeys([*then, *now])
        if key not in said and (key not in then or key not in now or then[key] != now[key])
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


class AuditFilters(FilterForm[AuditEntry]):
    """The filters of the log: a person's public id (or `nobody`), and an action's code."""

    person = AnyChoice("Person", everything="Everybody")
    action = AnyChoice("Action", everything="Everything")

    def clean_person(self) -> str:
        """Return a text that PostgreSQL takes."""
        return _plain(self.cleaned_data["person"], 40)

    def clean_action(self) -> str:
        """Return a text that PostgreSQL takes."""
        return _plain(self.cleaned_data["action"], 80)

    def filter(self, found: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """Return the entries that match."""
        person, action = self.cleaned_data["person"], self.cleaned_data["action"]
        if person == _NOBODY:
            found = found.filter(actor=None)
        elif person:
            found = found.filter(actor__public_id=person)
        return found.filter(action=action) if action else found


def _plain(text: str, longest: int) -> str:
    return text[:longest].replace("\0", "")


@seated(get=Act.SEE)
def audit_log(request: SeatedRequest) -> HttpResponse:
    """Show the log, newest first."""
    filters = AuditFilters(request.GET)
    query = {name: value for name, value in request.GET.dict().items() if value}
    page = keyset_page(filters.filter(_entries(request)), query)
    filters.offer("person", _people(request, filters.texts["person"]))
    filters.offer("action", _actions(filters.texts["action"]))
    context = {"filters": filters, "entries": page.rows, "names": names_of(page.rows), "pager": page}
    return render(request, "dashboard/accounts/audit.html", context)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send the filtered log as a CSV file."""
    chunks = chunks_by_key(AuditFilters(request.GET).filter(_entries(request)))
    name = f"audit-log-{request.seat.merchant.public_id}"
    return csv_response(name, _HEADER, map(_cells, chain.from_iterable(chunks)))


@seated(get=Act.SEE)
def check(request: SeatedRequest) -> HttpResponse:
    """Compare every entry of the merchant with its seal, as `manage.py verify_audit` does for all."""
    report = verify_audit_log(chain=request.seat.merchant.pk)
    head = report.heads[0] if report.heads else None
    context = {"report": report, "head": head}
    return render(request, "dashboard/accounts/audit_check.html", context)


def _entries(request: SeatedRequest) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(merchant=request.seat.merchant).select_related("actor")


def _people(request: SeatedRequest, chosen: str) -> list[tuple[str, str]]:
    """Return the people to filter by: the team, and the currently chosen one."""
    team = [seat.user for seat in team_of(request.seat.merchant)]
    people = {person.public_id: person.email for person in team}
    if chosen and chosen != _NOBODY and chosen not in people:
        people[chosen] = "A person outside the team"
    return [*people.items(), (_NOBODY, "No person: keys, commands, the system")]


def _actions(chosen: str) -> list[tuple[str, str]]:
    actions = {action: action_words(action) for action in (*ACTIONS, *SENTENCES)}
    if chosen:
        actions.setdefault(chosen, action_words(chosen))
    return sorted(actions.items(), key=lambda pair: pair[1])


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
