"""The audit log in sentences: what each action did, with the names of what it did it to, and links to their pages."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from django.urls import NoReverseMatch, reverse

from accounts.models import ApiKey, AuditEntry, User
from accounts.states import Mode
from accounts.team.access import Seat


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
        "api_key.created": _key("Created the API key {object}"),
        "api_key.changed": _key("Changed the API key {object}"),
        "api_key.rotated": _key("Rotated the API key {object}"),
        "api_key.revoked": _key("Revoked the API key {object}"),
        "receiving_wallet.set": _wallet("Set the receiving wallet on {object}"),
        "receiving_wallet.change_requested": _wallet("Asked for another receiving wallet on {object}"),
        "receiving_wallet.change_cancelled": _wallet("Cancelled the change of the receiving wallet on {object}"),
        "receiving_wallet.change_failed": _wallet(
            "The change of the receiving wallet on {object} was refused: {failure}"
        ),
        "receiving_wallet.proof_asked": _wallet("Asked for a message to prove a wallet on {object}"),
        "receiving_wallet.proven": _wallet("Proved a wallet on {object} by a signature"),
        "receiving_wallet.taken_over": _wallet("Another merchant proved that the wallet on {object} is theirs"),
        "receiving_wallet.refused": _wallet("The wallet on {object} is offered no more: {objection}"),
        "x402.requirements_set": _page(
            "Switched the {object} {requires_signature}", "dashboard_x402_setup", "signatures of machines"
        ),
        "x402.wallet_set": Sentence(
            "Set the wallet that machines pay on {object}", "dashboard_x402_setup", is_chain=True
        ),
        "watched_wallet.added": Sentence(
            "Began to watch the wallet {object}", "dashboard_watched_wallet", "wallet_id", named=("label", "address")
        ),
        "watched_wallet.changed": Sentence(
            "Changed the name or tags of the watched wallet {object}",
            "dashboard_watched_wallet",
            "wallet_id",
            named=("label",),
        ),
        "watched_wallet.removed": Sentence("Stopped watching the wallet {object}", named=("label", "address")),
        "merchant.wallet_change_hours_set": _page(
            "Set how long changes of {object} wait", "dashboard_receiving_wallets", "receiving wallets"
        ),
        "merchant.wallet_change_hours_applied": _page(
            "The shorter wait for changes of {object} took effect", "dashboard_receiving_wallets", "receiving wallets"
        ),
        "merchant.payout_rules_set": _page("Set the {object}", "dashboard_approvals", "rules for approving payouts"),
        "merchant.payout_rules_applied": _page(
            "The looser {object} took effect", "dashboard_approvals", "rules for approving payouts"
        ),
        "merchant.created": Sentence("Created this account"),
        "merchant.branding_changed": _page("Changed the {object}", "dashboard_branding", "branding"),
        "merchant.domain_changed": _page("Changed the {object}", "dashboard_branding", "domain of the shop"),
        "merchant.retry_switched": Sentence("Switched trying again at the same price {buyers_may_retry}"),
        "merchant.plan_set": Sentence("Set the plan {plan}", hidden=("rate",)),
        "merchant.time_zone_set": Sentence("Set the time zone of reports to {time_zone}"),
        "merchant.rate_margin_set": Sentence("Set the margin on converted prices to {rate_margin}"),
        "merchant.price_currency_set": Sentence("Set the currency that forms begin with to {price_currency}"),
        "merchant.receipts_switched": Sentence("Switched e-mail receipts for buyers {mails_receipts}"),
        "merchant.round_price_rivals_switched": Sentence("Switched the review of round payments {round_price_rivals}"),
        "merchant.gas_free_switched": Sentence("Switched payments without a network fee {is_gas_free}"),
        "merchant.inbox_rule_switched": _page(
            "Switched the rule for certain money in the {object} {decides_certain}", "dashboard_inbox", "inbox"
        ),
        "merchant.data_exported": Sentence("Downloaded all data of this account"),
        "merchant.closed": Sentence("Closed this account"),
        "merchant.reopened": Sentence("Reopened this account"),
        "invitation.sent": Sentence("Invited {email} as {role}"),
        "invitation.withdrawn": Sentence("Withdrew the invitation of {email}", hidden=("role",)),
        "invitation.accepted": Sentence("Joined the team as {role}, invited as {email}"),
        "member.role_changed": Sentence("Changed {object} from {old_role} to {role}", "dashboard_team"),
        "member.removed": Sentence("Removed {email} from the team", hidden=("role",)),
        "member.left": Sentence("Left the team", hidden=("role", "email")),
        "webhook_url.changed": _page("Changed the {object} of {mode} mode", "dashboard_webhooks", "webhook URL"),
        "webhook_endpoint.added": Sentence(
            "Added the webhook endpoint {object}", "dashboard_endpoint", "listed_id", named=("name", "url")
        ),
        "webhook_endpoint.changed": Sentence(
            "Changed the webhook endpoint {object}", "dashboard_endpoint", "listed_id", named=("name", "url")
        ),
        "webhook_endpoint.deleted": Sentence("Deleted the webhook endpoint {object}", named=("name", "url")),
        "webhook_endpoint.secret_rotated": Sentence(
            "Rotated the secret of the webhook endpoint {object}", "dashboard_endpoint", "listed_id"
        ),
        "webhook_endpoint.disabled": Sentence("The webhook endpoint {object} was disabled: {reason}"),
        "webhook_endpoint.enabled": Sentence("Enabled the webhook endpoint {object} again"),
        "webhook_secret.shown": _page("Looked at the {object}", "dashboard_webhooks", "webhook secret"),
        "webhook_secret.rolled": _page("Rotated the {object}", "dashboard_webhooks", "webhook secret"),
        "webhook_sample.sent": Sentence("Sent a test event to {object}"),
        "webhook_delivery.retried": Sentence("Sent the delivery {object} again", "dashboard_delivery", "delivery_id"),
        "webhook_deliveries.retried": _page(
            "Sent {deliveries} of the {object} of a time range again", "dashboard_deliveries", "deliveries"
        ),
        "notice_chat.added": _page("Added the chat {name}, which gets {object}", "dashboard_notices", "notices"),
        "notice_chat.removed": _page("Removed the chat {name}, which got {object}", "dashboard_notices", "notices"),
        "terminal.added": _terminal("Added the terminal {object}"),
        "terminal.changed": _terminal("Changed the terminal {object}"),
        "terminal.pairing_offered": _terminal(
            "Showed a code that pairs a device with the terminal {object}", hidden=("name",)
        ),
        "terminal.paired": _terminal("Paired {device} with the terminal {object}", hidden=("name",)),
        "terminal.revoked": _terminal("Revoked the terminal {object}", hidden=("name",)),
        "payment_link.created": Sentence(
            "Created the payment link {object}", "dashboard_link", "link_id", named=("title",)
        ),
        "payment_link.changed": Sentence("Changed the payment link {object}", "dashboard_link", "link_id"),
        "payment_link.status_set": Sentence("Set the payment link {object} to {status}", "dashboard_link", "link_id"),
        "link_template.created": Sentence("Saved the link template {title}"),
        "link_template.deleted": Sentence("Deleted the link template {title}"),
        "operator.looked": Sentence("Began to look at this account as an operator: {reason}"),
        "operator.stopped": Sentence("Stopped looking at this account as an operator"),
        "checkout.cancelled": _checkout("Cancelled the checkout {object}", hidden=("cancelled",)),
        "checkout.accepted": _checkout("Accepted {amount} of {price} as full payment of the checkout {object}"),
        "checkout.acceptance_undone": _checkout("Undid accepting {amount} of {price} for the checkout {object}"),
        "checkout.acceptance_done": _checkout(
            "{amount} of {price} counts as full payment of the checkout {object} now"
        ),
        "checkout.acceptance_failed": _checkout("Accepting {amount} for the checkout {object} was refused: {failure}"),
        "checkout.receipt_sent": _checkout("Sent the receipt of the checkout {object} to {email}"),
        "checkout.note_written": _checkout("Edited the team's note on the checkout {object}"),
        "checkout.refund_noted": _checkout("Recorded a refund of the checkout {object}"),
        "customer.note_written": Sentence("Edited the team's note on a customer: {object}"),
        "report.closed": Sentence(
            "Closed the report of the buyer of the checkout {object}",
            "dashboard_checkout",
            "checkout_id",
            key="checkout",
        ),
        "escrow.released": _checkout("Released the escrow of the checkout {object}", hidden=("escrow",)),
        "settlement.asked": Sentence(
            "Asked to settle {amount} {token}: {object}", "dashboard_settlement", "settlement_id"
        ),
        "settlements.intervals_set": _page(
            "Set when {object} begin by themselves", "dashboard_settlements", "settlements"
        ),
        "payout.requested": _payout("Asked for the {kind} {object}"),
        "payout.key_asked": _key("The API key {object} asked for {payouts} payouts of {amounts} on {day}"),
        "payout.address_set": _payout("Set the address of the payout {object}"),
        "payout.address_doubted": _payout("Its network warns of the address of the payout {object}: approve it anew"),
        "payout.approved": _payout("Approved the payout {object}"),
        "payouts.approved": _page("Approved a list of {payouts} {object}", "dashboard_payouts", "payouts"),
        "payout.approval_void": _payout(
            "An approval of the payout {object} is void: its member may not approve any more"
        ),
        "payout.sent_named": _payout("Recorded the refund {object}, which was sent before"),
        "payout.transaction_named": _payout("Named the transaction that paid the payout {object}"),
        "payout.cancelled": _payout("Cancelled the payout {object}"),
        "payout_batch.made": Sentence(
            "Handed out {payouts} payouts of {amount} {token} to be signed: {object}",
            "dashboard_payout_batch",
            "batch_id",
        ),
        "payout_batch.cancelled": Sentence(
            "Asked for the payouts of the batch {object} back", "dashboard_payout_batch", "batch_id"
        ),
        "payout.expired": _payout("The payout {object} expired: nobody gave an address"),
        "payout.paid": _payout("The payout {object} was found on its network, paid"),
        "payout.paid_twice": _payout("The payout {object} was sent a second time"),
        "payout.sent_cancelled": _payout("The payout {object} was sent after it was cancelled"),
        "payout.reversed": _payout("The network reversed the payout {object}"),
        "payout.returned": _payout("The alarm about the payout {object} is over: its network agrees again"),
        "payout.amount_accepted": _payout("Accepted another amount for the payout {object}"),
        "payout.lost_outflow_accepted": _payout("Accepted a payment of a lost time as the payout {object}"),
        "inbox.decided": Sentence("Decided the inbox item {object}: {act}", "dashboard_inbox_item", "item_id"),
        "inbox.undone": Sentence(
            "Undid a decision about the inbox item {object}: {act}", "dashboard_inbox_item", "item_id"
        ),
        "inbox.done": Sentence(
            "A decision about the inbox item {object} took effect: {act}", "dashboard_inbox_item", "item_id"
        ),
        "inbox.failed": Sentence(
            "A decision about the inbox item {object} was refused: {failure}", "dashboard_inbox_item", "item_id"
        ),
    }
)
"""By action. One that is missing, or whose entry lacks a value that its sentence names, has the label of `audit_log.ACTIONS`."""

_FIELD: Final = re.compile(r"\{(\w+)\}")
_OLD: Final = "old_"
# Values that are codes of ours.
_CODES: Final = frozenset({"act", "role", "old_role", "status", "plan"})
_ABBREVIATION: Final = 3


class Part(NamedTuple):
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


def sentence_of(entry: AuditEntry, names: Names, seat: Seat) -> list[Part]:
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


def _parts(sentence: Sentence, entry: AuditEntry, names: Names, seat: Seat) -> Iterator[Part]:
    for number, text in enumerate(_FIELD.split(sentence.words)):
        if number % 2 == 0:
            if text:
                yield Part(text)
        elif text == "object":
            yield _object(sentence, entry, names, seat)
        else:
            yield Part(_value(entry, text))


def _object(sentence: Sentence, entry: AuditEntry, names: Names, seat: Seat) -> Part:
    subject = _value(entry, sentence.key) if sentence.key else entry.object_id
    given = (_value(entry, name) for name in sentence.named)
    name = sentence.label or names.names.get(subject) or next(filter(None, given), "") or subject
    if sentence.is_chain:
        name = _chain_name(subject)
    if not sentence.route or not name:
        return Part(name)
    mode = names.modes.get(subject) or _mode_of(entry, subject) or Mode.LIVE
    here: dict[str, Any] = {"mer_id": seat.merchant.public_id, "mode": mode}
    if sentence.argument:
        here[sentence.argument] = subject
    try:
        return Part(name, reverse(sentence.route, kwargs=here))
    except NoReverseMatch:
        # An entry of an older release may name its object by something else.
        return Part(name)


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
        return "on" if value else "off"
    if isinstance(value, dict):
        # Amounts by token.
        return ", ".join(f"{amount} {token}" for token, amount in value.items())
    words = "" if value is None else str(value)
    return words.replace("_", " ") if name in _CODES else words
