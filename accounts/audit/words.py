"""The audit log's texts for people."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

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
