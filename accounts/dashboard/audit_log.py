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
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from accounts.audit.chain import verify_audit_log
from accounts.dashboard.audit_sentences import SENTENCES, names_of
from accounts.models import AuditEntry
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from accounts.team.selectors import team_of
from gateway.core import json as core_json
from gateway.core.api.pagination import chunks_by_key, keyset_page
from gateway.core.exports import csv_response
from gateway.core.texts import pgettext_noop, team_words
from gateway.core.times import iso
from gateway.core.web.lists import AnyChoice, FilterForm

ACTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "api_key.created": gettext_noop("API key created"),
        "api_key.changed": gettext_noop("API key changed"),
        "api_key.rotated": gettext_noop("API key rotated"),
        "api_key.revoked": gettext_noop("API key revoked"),
        "receiving_wallet.set": gettext_noop("Receiving wallet set"),
        "receiving_wallet.change_requested": gettext_noop("Change of receiving wallet requested"),
        "receiving_wallet.change_cancelled": gettext_noop("Wallet change cancelled"),
        "receiving_wallet.change_failed": gettext_noop("Wallet change refused"),
        "receiving_wallet.proof_asked": gettext_noop("Wallet proof requested"),
        "receiving_wallet.proven": gettext_noop("Wallet proven by a signature"),
        "receiving_wallet.taken_over": gettext_noop("Wallet taken over by a proof"),
        "receiving_wallet.refused": gettext_noop("Wallet no longer offered: its network says that it loses money"),
        "x402.requirements_set": gettext_noop("Machines' signatures switched"),
        "x402.wallet_set": gettext_noop("Wallet for machines set"),
        "watched_wallet.added": gettext_noop("Watched wallet added"),
        "watched_wallet.changed": gettext_noop("Watched wallet renamed"),
        "watched_wallet.removed": gettext_noop("Watched wallet removed"),
        "merchant.wallet_change_hours_set": gettext_noop("Delay of wallet changes set"),
        "merchant.wallet_change_hours_applied": gettext_noop("Shorter wait took effect"),
        "merchant.payout_rules_set": gettext_noop("Rules for approving payouts set"),
        "merchant.payout_rules_applied": gettext_noop("Looser rules for approving payouts took effect"),
        "merchant.created": gettext_noop("Merchant created"),
        "merchant.branding_changed": gettext_noop("Branding changed"),
        "merchant.domain_changed": gettext_noop("Shop's domain changed"),
        "merchant.retry_switched": gettext_noop("Trying again switched"),
        "merchant.plan_set": gettext_noop("Plan set by the operator"),
        "merchant.time_zone_set": gettext_noop("Time zone changed"),
        "merchant.rate_margin_set": gettext_noop("Margin on converted prices set"),
        "merchant.price_currency_set": gettext_noop("Currency of forms set"),
        "merchant.receipts_switched": gettext_noop("E-mail receipts switched on or off"),
        "merchant.round_price_rivals_switched": gettext_noop("Review of round payments switched on or off"),
        "merchant.gas_free_switched": gettext_noop("Payments without a network fee switched on or off"),
        "merchant.inbox_rule_switched": gettext_noop("Rule of the inbox switched on or off"),
        "merchant.data_exported": gettext_noop("All data exported"),
        "merchant.closed": gettext_noop("Account closed"),
        "merchant.reopened": gettext_noop("Account reopened by the operator"),
        "invitation.sent": gettext_noop("Invitation sent"),
        "invitation.withdrawn": gettext_noop("Invitation withdrawn"),
        "invitation.accepted": gettext_noop("Invitation accepted"),
        "member.role_changed": gettext_noop("Role changed"),
        "member.removed": gettext_noop("Member removed"),
        "member.left": gettext_noop("Member left"),
        "webhook_url.changed": gettext_noop("Webhook URL changed"),
        "webhook_endpoint.added": gettext_noop("Webhook endpoint added"),
        "webhook_endpoint.changed": gettext_noop("Webhook endpoint changed"),
        "webhook_endpoint.deleted": gettext_noop("Webhook endpoint deleted"),
        "webhook_endpoint.secret_rotated": gettext_noop("Secret of a webhook endpoint rotated"),
        "webhook_endpoint.disabled": gettext_noop("Webhook endpoint disabled"),
        "webhook_endpoint.enabled": gettext_noop("Webhook endpoint enabled again"),
        "webhook_sample.sent": gettext_noop("Test event sent"),
        "webhook_delivery.retried": gettext_noop("Delivery sent again"),
        "webhook_deliveries.retried": gettext_noop("Deliveries of a time range sent again"),
        "webhook_secret.shown": gettext_noop("Webhook secret shown"),
        "notice_chat.added": gettext_noop("Chat added that gets notices"),
        "notice_chat.changed": gettext_noop("Events of a chat changed"),
        "notice_chat.removed": gettext_noop("Chat removed that got notices"),
        "webhook_secret.rolled": gettext_noop("Webhook secret rotated"),
        "terminal.added": gettext_noop("Terminal added"),
        "terminal.changed": gettext_noop("Terminal changed"),
        "terminal.pairing_offered": gettext_noop("Code shown that pairs a device with a terminal"),
        "terminal.paired": gettext_noop("Device paired with a terminal"),
        "terminal.revoked": gettext_noop("Terminal revoked"),
        "payment_link.created": gettext_noop("Payment link created"),
        "payment_link.changed": gettext_noop("Payment link changed"),
        "payment_link.status_set": gettext_noop("Payment link paused, archived or opened"),
        "link_template.created": gettext_noop("Link template saved"),
        "link_template.deleted": gettext_noop("Link template deleted"),
        "operator.looked": gettext_noop("Operator impersonation started"),
        "operator.stopped": gettext_noop("Operator impersonation ended"),
        "checkout.cancelled": pgettext_noop("team", "Checkout cancelled"),
        "checkout.accepted": gettext_noop("Short payment accepted"),
        "checkout.acceptance_undone": gettext_noop("Acceptance undone"),
        "checkout.acceptance_done": gettext_noop("Acceptance took effect"),
        "checkout.acceptance_failed": gettext_noop("Acceptance refused"),
        "checkout.receipt_sent": gettext_noop("Receipt sent"),
        "checkout.note_written": gettext_noop("Checkout note edited"),
        "customer.note_written": gettext_noop("Customer note edited"),
        "checkout.refund_noted": gettext_noop("Refund recorded"),
        "report.closed": gettext_noop("Report of a buyer closed"),
        "escrow.released": gettext_noop("Escrow released"),
        "settlement.asked": gettext_noop("Settlement asked for"),
        "settlements.intervals_set": gettext_noop("Start of settlements set"),
        "payout.requested": gettext_noop("Refund or payout requested"),
        "payout.key_asked": gettext_noop("Day's sum of refunds and payouts that an API key asked for"),
        "payout.address_set": gettext_noop("Address of a payout set"),
        "payout.address_doubted": gettext_noop("Warning about the address of a payout"),
        "payout.approved": gettext_noop("Payout approved"),
        "payouts.approved": gettext_noop("List of payouts approved"),
        "payout.approval_void": gettext_noop("Approval void: a member who approved may no longer"),
        "payout.sent_named": gettext_noop("Refund recorded that was sent before"),
        "payout.transaction_named": gettext_noop("Transaction of a payout named"),
        "payout.cancelled": gettext_noop("Payout cancelled"),
        "payout_batch.made": gettext_noop("Batch of payouts handed out"),
        "payout_batch.cancelled": gettext_noop("Batch of payouts cancelled"),
        "payout.expired": gettext_noop("Payout expired: nobody gave an address"),
        "payout.paid": gettext_noop("Payout found on the chain"),
        "payout.paid_twice": gettext_noop("Payout sent a second time"),
        "payout.sent_cancelled": gettext_noop("Payout sent after it was cancelled"),
        "payout.sent_elsewhere": gettext_noop("Payout sent to an address that it had before"),
        "payout.reversed": gettext_noop("Payout reversed by its network"),
        "payout.returned": gettext_noop("Payout's alarm cleared: its network agrees again"),
        "payout.amount_accepted": gettext_noop("Other amount of a payout accepted"),
        "payout.lost_outflow_accepted": gettext_noop("Payment of a lost time accepted as a payout"),
        "inbox.decided": gettext_noop("Inbox item decided"),
        "inbox.undone": gettext_noop("Inbox decision undone"),
        "inbox.done": gettext_noop("Inbox decision took effect"),
        "inbox.failed": gettext_noop("Inbox decision refused"),
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
    return team_words(ACTIONS[action]) if action in ACTIONS else plain[:1].upper() + plain[1:]


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
            return gettext("nothing")
        case True:
            return gettext("on")
        case False:
            return gettext("off")
        case str() | int() | float() as plain:
            return str(plain)
        case nested:
            return json.dumps(nested, ensure_ascii=False)


class AuditFilters(FilterForm[AuditEntry]):
    """The filters of the log: a person's public id (or `nobody`), and an action's code."""

    person = AnyChoice(_("Person"), everything=_("Everybody"))
    action = AnyChoice(_("Action"), everything=_("Everything"))

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
        people[chosen] = gettext("A person outside the team")
    return [*people.items(), (_NOBODY, gettext("No person: keys, commands, the system"))]


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
