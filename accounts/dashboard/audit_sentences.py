"""The audit log in sentences: what each action did, with the names of what it did it to, and links to their pages."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext, gettext_noop

from accounts.models import ApiKey, AuditEntry, User
from accounts.states import Mode
from accounts.team.access import Seat
from gateway.core.texts import pgettext_noop, team_words


class Sentence(NamedTuple):
    """A sentence about an action; who did it is told beside it.

    `{object}` is what it was done to, with a link to `route`: by the entry's object, or by the value that `key` names, as the route's
    `argument`. `named` are the entry's values that may name it, the first that is there; with `is_chain` it is a chain. Other fields in braces are values of the
    entry, the new ones first; `{old_role}` is the old one. `hidden` are values that the sentence says without naming them.
    """

    words: str
    route: str = ""
    argument: str = ""
    key: str = ""
    named: tuple[str, ...] = ()
    label: str = ""
    hidden: tuple[str, ...] = ()
    is_chain: bool = False


_KEY_PAGE: Final = "dashboard_key"


def _checkout(words: str, *, hidden: tuple[str, ...] = ()) -> Sentence:
    return Sentence(words, "dashboard_checkout", "checkout_id", hidden=hidden)


def _payout(words: str) -> Sentence:
    return Sentence(words, "dashboard_payout", "payout_id", named=("reference",), hidden=("revision",))


def _terminal(words: str, *, hidden: tuple[str, ...] = ()) -> Sentence:
    return Sentence(words, "dashboard_terminal", "terminal_id", named=("name",), hidden=hidden)


def _key(words: str) -> Sentence:
    return Sentence(words, _KEY_PAGE, "key_id", named=("name",))


def _wallet(words: str) -> Sentence:
    """About the receiving wallet of a chain, which is the entry's object."""
    return Sentence(words, "dashboard_receiving_wallets", is_chain=True)


def _page(words: str, route: str, label: str) -> Sentence:
    """About a setting: `{object}` is a constant label with a link to its page."""
    return Sentence(words, route, label=label)


SENTENCES: Final[Mapping[str, Sentence]] = MappingProxyType(
    {
        "api_key.created": _key(gettext_noop("Created the API key {object}")),
        "api_key.changed": _key(gettext_noop("Changed the API key {object}")),
        "api_key.rotated": _key(gettext_noop("Rotated the API key {object}")),
        "api_key.revoked": _key(gettext_noop("Revoked the API key {object}")),
        "receiving_wallet.set": _wallet(gettext_noop("Set the receiving wallet on {object}")),
        "receiving_wallet.change_requested": _wallet(gettext_noop("Asked for another receiving wallet on {object}")),
        "receiving_wallet.change_cancelled": _wallet(
            gettext_noop("Cancelled the change of the receiving wallet on {object}")
        ),
        "receiving_wallet.change_failed": _wallet(
            gettext_noop("The change of the receiving wallet on {object} was refused: {failure}")
        ),
        "receiving_wallet.proof_asked": _wallet(gettext_noop("Asked for a message to prove a wallet on {object}")),
        "receiving_wallet.proven": _wallet(gettext_noop("Proved a wallet on {object} by a signature")),
        "receiving_wallet.taken_over": _wallet(
            gettext_noop("Another merchant proved that the wallet on {object} is theirs")
        ),
        "receiving_wallet.refused": _wallet(gettext_noop("The wallet on {object} is offered no more: {objection}")),
        "x402.requirements_set": _page(
            gettext_noop("Switched the {object} {requires_signature}"),
            "dashboard_x402_setup",
            gettext_noop("signatures of machines"),
        ),
        "x402.wallet_set": Sentence(
            gettext_noop("Set the wallet that machines pay on {object}"), "dashboard_x402_setup", is_chain=True
        ),
        "watched_wallet.added": Sentence(
            gettext_noop("Began to watch the wallet {object}"),
            "dashboard_watched_wallet",
            "wallet_id",
            named=("label", "address"),
        ),
        "watched_wallet.changed": Sentence(
            gettext_noop("Changed the name or tags of the watched wallet {object}"),
            "dashboard_watched_wallet",
            "wallet_id",
            named=("label",),
        ),
        "watched_wallet.removed": Sentence(
            gettext_noop("Stopped watching the wallet {object}"), named=("label", "address")
        ),
        "merchant.wallet_change_hours_set": _page(
            gettext_noop("Set how long changes of {object} wait"),
            "dashboard_receiving_wallets",
            gettext_noop("receiving wallets"),
        ),
        "merchant.wallet_change_hours_applied": _page(
            gettext_noop("The shorter wait for changes of {object} took effect"),
            "dashboard_receiving_wallets",
            gettext_noop("receiving wallets"),
        ),
        "merchant.payout_rules_set": _page(
            gettext_noop("Set the {object}"), "dashboard_approvals", gettext_noop("rules for approving payouts")
        ),
        "merchant.payout_rules_applied": _page(
            gettext_noop("The looser {object} took effect"),
            "dashboard_approvals",
            gettext_noop("rules for approving payouts"),
        ),
        "merchant.created": Sentence(gettext_noop("Created this account")),
        "merchant.branding_changed": _page(
            gettext_noop("Changed the {object}"), "dashboard_branding", gettext_noop("branding")
        ),
        "merchant.domain_changed": _page(
            gettext_noop("Changed the {object}"), "dashboard_branding", gettext_noop("domain of the shop")
        ),
        "merchant.retry_switched": Sentence(gettext_noop("Switched trying again at the same price {buyers_may_retry}")),
        "merchant.plan_set": Sentence(gettext_noop("Set the plan {plan}"), hidden=("rate",)),
        "merchant.time_zone_set": Sentence(gettext_noop("Set the time zone of reports to {time_zone}")),
        "merchant.rate_margin_set": Sentence(gettext_noop("Set the margin on converted prices to {rate_margin}")),
        "merchant.price_currency_set": Sentence(
            gettext_noop("Set the currency that forms begin with to {price_currency}")
        ),
        "merchant.receipts_switched": Sentence(gettext_noop("Switched e-mail receipts for buyers {mails_receipts}")),
        "merchant.round_price_rivals_switched": Sentence(
            gettext_noop("Switched the review of round payments {round_price_rivals}")
        ),
        "merchant.gas_free_switched": Sentence(gettext_noop("Switched payments without a network fee {is_gas_free}")),
        "merchant.inbox_rule_switched": _page(
            gettext_noop("Switched the rule for certain money in the {object} {decides_certain}"),
            "dashboard_inbox",
            gettext_noop("inbox"),
        ),
        "merchant.data_exported": Sentence(gettext_noop("Downloaded all data of this account")),
        "merchant.closed": Sentence(gettext_noop("Closed this account")),
        "merchant.reopened": Sentence(gettext_noop("Reopened this account")),
        "invitation.sent": Sentence(gettext_noop("Invited {email} as {role}")),
        "invitation.withdrawn": Sentence(gettext_noop("Withdrew the invitation of {email}"), hidden=("role",)),
        "invitation.accepted": Sentence(gettext_noop("Joined the team as {role}, invited as {email}")),
        "member.role_changed": Sentence(gettext_noop("Changed {object} from {old_role} to {role}"), "dashboard_team"),
        "member.removed": Sentence(gettext_noop("Removed {email} from the team"), hidden=("role",)),
        "member.left": Sentence(gettext_noop("Left the team"), hidden=("role", "email")),
        "webhook_url.changed": _page(
            gettext_noop("Changed the {object} of {mode} mode"), "dashboard_webhooks", gettext_noop("webhook URL")
        ),
        "webhook_endpoint.added": Sentence(
            gettext_noop("Added the webhook endpoint {object}"),
            "dashboard_endpoint",
            "listed_id",
            named=("name", "url"),
        ),
        "webhook_endpoint.changed": Sentence(
            gettext_noop("Changed the webhook endpoint {object}"),
            "dashboard_endpoint",
            "listed_id",
            named=("name", "url"),
        ),
        "webhook_endpoint.deleted": Sentence(
            gettext_noop("Deleted the webhook endpoint {object}"), named=("name", "url")
        ),
        "webhook_endpoint.secret_rotated": Sentence(
            gettext_noop("Rotated the secret of the webhook endpoint {object}"), "dashboard_endpoint", "listed_id"
        ),
        "webhook_endpoint.disabled": Sentence(gettext_noop("The webhook endpoint {object} was disabled: {reason}")),
        "webhook_endpoint.enabled": Sentence(gettext_noop("Enabled the webhook endpoint {object} again")),
        "webhook_secret.shown": _page(
            gettext_noop("Looked at the {object}"), "dashboard_webhooks", gettext_noop("webhook secret")
        ),
        "webhook_secret.rolled": _page(
            gettext_noop("Rotated the {object}"), "dashboard_webhooks", gettext_noop("webhook secret")
        ),
        "webhook_sample.sent": Sentence(gettext_noop("Sent a test event to {object}")),
        "webhook_delivery.retried": Sentence(
            gettext_noop("Sent the delivery {object} again"), "dashboard_delivery", "delivery_id"
        ),
        "webhook_deliveries.retried": _page(
            gettext_noop("Sent {deliveries} of the {object} of a time range again"),
            "dashboard_deliveries",
            gettext_noop("deliveries"),
        ),
        "notice_chat.added": _page(
            gettext_noop("Added the chat {name}, which gets {object}"), "dashboard_notices", gettext_noop("notices")
        ),
        "notice_chat.changed": _page(
            gettext_noop("Changed which {object} the chat {name} gets"), "dashboard_notices", "notices"
        ),
        "notice_chat.removed": _page(
            gettext_noop("Removed the chat {name}, which got {object}"), "dashboard_notices", gettext_noop("notices")
        ),
        "terminal.added": _terminal(gettext_noop("Added the terminal {object}")),
        "terminal.changed": _terminal(gettext_noop("Changed the terminal {object}")),
        "terminal.pairing_offered": _terminal(
            gettext_noop("Showed a code that pairs a device with the terminal {object}"), hidden=("name",)
        ),
        "terminal.paired": _terminal(gettext_noop("Paired {device} with the terminal {object}"), hidden=("name",)),
        "terminal.revoked": _terminal(gettext_noop("Revoked the terminal {object}"), hidden=("name",)),
        "payment_link.created": Sentence(
            gettext_noop("Created the payment link {object}"), "dashboard_link", "link_id", named=("title",)
        ),
        "payment_link.changed": Sentence(
            gettext_noop("Changed the payment link {object}"), "dashboard_link", "link_id"
        ),
        "payment_link.status_set": Sentence(
            gettext_noop("Set the payment link {object} to {status}"), "dashboard_link", "link_id"
        ),
        "link_template.created": Sentence(gettext_noop("Saved the link template {title}")),
        "link_template.deleted": Sentence(gettext_noop("Deleted the link template {title}")),
        "operator.looked": Sentence(gettext_noop("Began to look at this account as an operator: {reason}")),
        "operator.stopped": Sentence(gettext_noop("Stopped looking at this account as an operator")),
        "checkout.cancelled": _checkout(gettext_noop("Cancelled the checkout {object}"), hidden=("cancelled",)),
        "checkout.accepted": _checkout(
            gettext_noop("Accepted {amount} of {price} as full payment of the checkout {object}")
        ),
        "checkout.acceptance_undone": _checkout(
            gettext_noop("Undid accepting {amount} of {price} for the checkout {object}")
        ),
        "checkout.acceptance_done": _checkout(
            gettext_noop("{amount} of {price} counts as full payment of the checkout {object} now")
        ),
        "checkout.acceptance_failed": _checkout(
            gettext_noop("Accepting {amount} for the checkout {object} was refused: {failure}")
        ),
        "checkout.receipt_sent": _checkout(gettext_noop("Sent the receipt of the checkout {object} to {email}")),
        "checkout.note_written": _checkout(gettext_noop("Edited the team's note on the checkout {object}")),
        "checkout.refund_noted": _checkout(gettext_noop("Recorded a refund of the checkout {object}")),
        "customer.note_written": Sentence(gettext_noop("Edited the team's note on a customer: {object}")),
        "report.closed": Sentence(
            gettext_noop("Closed the report of the buyer of the checkout {object}"),
            "dashboard_checkout",
            "checkout_id",
            key="checkout",
        ),
        "escrow.released": _checkout(gettext_noop("Released the escrow of the checkout {object}"), hidden=("escrow",)),
        "settlement.asked": Sentence(
            gettext_noop("Asked to settle {amount} {token}: {object}"), "dashboard_settlement", "settlement_id"
        ),
        "settlements.intervals_set": _page(
            gettext_noop("Set when {object} begin by themselves"), "dashboard_settlements", gettext_noop("settlements")
        ),
        "payout.requested": _payout(gettext_noop("Asked for the {kind} {object}")),
        "payout.key_asked": _key(
            gettext_noop("The API key {object} asked for {payouts} payouts of {amounts} on {day}")
        ),
        "payout.address_set": _payout(gettext_noop("Set the address of the payout {object}")),
        "payout.address_doubted": _payout(
            gettext_noop("Its network warns of the address of the payout {object}: approve it anew")
        ),
        "payout.approved": _payout(gettext_noop("Approved the payout {object}")),
        "payouts.approved": _page(
            gettext_noop("Approved a list of {payouts} {object}"), "dashboard_payouts", gettext_noop("payouts")
        ),
        "payout.approval_void": _payout(
            gettext_noop("An approval of the payout {object} is void: its member may not approve any more")
        ),
        "payout.sent_named": _payout(gettext_noop("Recorded the refund {object}, which was sent before")),
        "payout.transaction_named": _payout(gettext_noop("Named the transaction that paid the payout {object}")),
        "payout.cancelled": _payout(gettext_noop("Cancelled the payout {object}")),
        "payout_batch.made": Sentence(
            gettext_noop("Handed out {payouts} payouts of {amount} {token} to be signed: {object}"),
            "dashboard_payout_batch",
            "batch_id",
        ),
        "payout_batch.cancelled": Sentence(
            gettext_noop("Asked for the payouts of the batch {object} back"), "dashboard_payout_batch", "batch_id"
        ),
        "payout.expired": _payout(gettext_noop("The payout {object} expired: nobody gave an address")),
        "payout.paid": _payout(gettext_noop("The payout {object} was found on its network, paid")),
        "payout.paid_twice": _payout(gettext_noop("The payout {object} was sent a second time")),
        "payout.sent_cancelled": _payout(gettext_noop("The payout {object} was sent after it was cancelled")),
        "payout.sent_elsewhere": _payout(gettext_noop("The payout {object} was sent to an address that it had before")),
        "payout.reversed": _payout(gettext_noop("The network reversed the payout {object}")),
        "payout.returned": _payout(
            gettext_noop("The alarm about the payout {object} is over: its network agrees again")
        ),
        "payout.amount_accepted": _payout(gettext_noop("Accepted another amount for the payout {object}")),
        "payout.lost_outflow_accepted": _payout(
            gettext_noop("Accepted a payment of a lost time as the payout {object}")
        ),
        "inbox.decided": Sentence(
            gettext_noop("Decided the inbox item {object}: {act}"), "dashboard_inbox_item", "item_id"
        ),
        "inbox.undone": Sentence(
            gettext_noop("Undid a decision about the inbox item {object}: {act}"), "dashboard_inbox_item", "item_id"
        ),
        "inbox.done": Sentence(
            gettext_noop("A decision about the inbox item {object} took effect: {act}"),
            "dashboard_inbox_item",
            "item_id",
        ),
        "inbox.failed": Sentence(
            gettext_noop("A decision about the inbox item {object} was refused: {failure}"),
            "dashboard_inbox_item",
            "item_id",
        ),
    }
)
"""By action. One that is missing, or whose entry lacks a value that its sentence names, has the label of `audit_log.ACTIONS`."""

_FIELD: Final = re.compile(r"\{(\w+)\}")
_OLD: Final = "old_"
_ROLES: Final = {
    "owner": pgettext_noop("team", "owner"),
    "admin": pgettext_noop("team", "admin"),
    "viewer": pgettext_noop("team", "viewer"),
}
CODES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "role": _ROLES,
        "old_role": _ROLES,
        "mode": {"live": pgettext_noop("team", "live"), "test": pgettext_noop("team", "test")},
        "plan": {
            "starter": pgettext_noop("team", "starter"),
            "growth": pgettext_noop("team", "growth"),
            "scale": pgettext_noop("team", "scale"),
            "custom": pgettext_noop("team", "custom"),
        },
        "status": {
            "active": pgettext_noop("team", "active"),
            "paused": pgettext_noop("team", "paused"),
            "archived": pgettext_noop("team", "archived"),
        },
        "kind": {"refund": pgettext_noop("team", "refund"), "payout": pgettext_noop("team", "payout")},
        "act": {
            "credit": pgettext_noop("team", "credit"),
            "accept_late": pgettext_noop("team", "accept late"),
            "refunded": pgettext_noop("team", "refunded"),
            "dismiss": pgettext_noop("team", "dismiss"),
        },
    }
)
"""Values that are codes of ours, and their words: of a role, a mode, a plan, a link's status, a kind of payout, an act on inbox money."""
_ABBREVIATION: Final = 3


class SentencePart(NamedTuple):
    """A piece of a sentence; with `url` it is a link."""

    text: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """What the objects of some entries are called, and the modes of those that have one, by public id."""

    names: Mapping[str, str]
    modes: Mapping[str, Mode]


def names_of(entries: Iterable[AuditEntry]) -> Names:
    """Return the names of these entries' keys and members, in two queries. The entries are of one merchant."""
    ids: dict[str, set[str]] = {"api_key": set(), "member": set()}
    merchants: set[int | None] = set()
    for entry in entries:
        sentence = SENTENCES.get(entry.action)
        is_of_key = sentence is not None and sentence.route == _KEY_PAGE
        kind = "api_key" if is_of_key else entry.action.partition(".")[0]
        if kind in ids:
            ids[kind].add(entry.object_id)
            merchants.add(entry.merchant_id)
    names: dict[str, str] = {}
    modes: dict[str, Mode] = {}
    if ids["api_key"]:
        keys = ApiKey.objects.filter(merchant__in=merchants, public_id__in=ids["api_key"])
        for public_id, name, mode in keys.values_list("public_id", "name", "mode"):
            names[public_id], modes[public_id] = name, Mode(mode)
    if ids["member"]:
        people = User.objects.filter(public_id__in=ids["member"])
        names |= dict(people.values_list("public_id", "email"))
    return Names(names, modes)


def sentence_of(entry: AuditEntry, names: Names, seat: Seat) -> list[SentencePart]:
    """Return an entry's sentence in pieces; empty if there is none, or it would have a blank."""
    sentence = SENTENCES.get(entry.action)
    if sentence is None:
        return []
    parts = list(_parts(sentence, entry, names, seat))
    return [] if any(not part.text for part in parts) else parts


def said_by(entry: AuditEntry) -> frozenset[str]:
    """Return the values of an entry that its sentence says wholly: also the old one, if there is one and it is no switch."""
    sentence, before = SENTENCES[entry.action], entry.before or {}
    fields = set(_FIELD.findall(sentence.words))
    whole = {
        name
        for name in fields
        if name not in before or isinstance(before[name], bool) or f"{_OLD}{name}" in fields or not entry.after
    }
    return frozenset(whole | set(sentence.hidden))


def _parts(sentence: Sentence, entry: AuditEntry, names: Names, seat: Seat) -> Iterator[SentencePart]:
    for number, text in enumerate(_FIELD.split(gettext(sentence.words))):
        if number % 2 == 0:
            if text:
                yield SentencePart(text)
        elif text == "object":
            yield _object(sentence, entry, names, seat)
        else:
            yield SentencePart(_value(entry, text))


def _object(sentence: Sentence, entry: AuditEntry, names: Names, seat: Seat) -> SentencePart:
    subject = _value(entry, sentence.key) if sentence.key else entry.object_id
    given = (_value(entry, name) for name in sentence.named)
    label = gettext(sentence.label) if sentence.label else ""
    name = label or names.names.get(subject) or next(filter(None, given), "") or subject
    if sentence.is_chain:
        name = _chain_name(subject)
    if not sentence.route or not name:
        return SentencePart(name)
    mode = names.modes.get(subject) or _mode_of(entry, subject) or Mode.LIVE
    here: dict[str, Any] = {"mer_id": seat.merchant.public_id, "mode": mode}
    if sentence.argument:
        here[sentence.argument] = subject
    try:
        return SentencePart(name, reverse(sentence.route, kwargs=here))
    except NoReverseMatch:
        # An entry of an older release may name its object by something else.
        return SentencePart(name)


def _chain_name(chain: str) -> str:
    """Return a chain's name as people write it, such as `Base`. This app knows no chains."""
    return chain.upper() if len(chain) <= _ABBREVIATION else chain.capitalize()


def _mode_of(entry: AuditEntry, subject: str) -> Mode | None:
    told = (entry.after or {}).get("mode") or (entry.before or {}).get("mode")
    return next((mode for mode in Mode if told == mode or f"_{mode}_" in subject), None)


def _value(entry: AuditEntry, name: str) -> str:
    """Return a value of an entry in words; empty if it is missing."""
    before, after = entry.before or {}, entry.after or {}
    value = before.get(name.removeprefix(_OLD)) if name.startswith(_OLD) else after.get(name, before.get(name))
    if isinstance(value, bool):
        return gettext("on") if value else gettext("off")
    if isinstance(value, dict):
        # Amounts by token.
        return ", ".join(f"{amount} {token}" for token, amount in value.items())
    words = "" if value is None else str(value)
    if name not in CODES:
        return words
    return team_words(CODES[name].get(words, words.replace("_", " "))) if words else ""
