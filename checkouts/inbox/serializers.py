"""Inbox items as the API shows them: the facts, words and candidates of the dashboard's page."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rest_framework import serializers as s

from accounts.states import Mode
from checkouts import models
from checkouts.inbox.queries import with_rows
from checkouts.inbox.rows import item_row, sentence
from checkouts.payloads import remaining_units
from checkouts.states import CheckoutStatus, InboxAct, InboxOutcome, InboxReason, InboxStatus
from gateway.core.api.openapi import paginated
from gateway.core.api.serializers import Answer, LiveMode, Moment, Text, Units, Usd
from gateway.core.money import format_units
from wallets.models import Transfer
from wallets.networks import chain_spec
from wallets.states import TransferState

_ID = "inb_"
_TRANSFER_ID = "trf_"
_WRITTEN_ID: Final = re.compile(r"inb_([0-9a-f]{32})-([a-z_]{1,13})")


def item_id(transfer_id: str, reason: str) -> str:
    """Return an item's id. A transfer has one item for each reason, which never changes."""
    return f"{_ID}{transfer_id.removeprefix(_TRANSFER_ID)}-{reason}"


def parse_item_id(text: str) -> dict[str, str] | None:
    """Return the filter for the item of an id; None for a text that no item has as its id."""
    found = _WRITTEN_ID.fullmatch(text)
    return {"transfer__public_id": _TRANSFER_ID + found[1], "reason": found[2]} if found else None


class InboxTransfer(Answer):
    """The money of an item, as its chain reports it."""

    id = s.CharField(source="public_id")
    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField(help_text="With six decimals, or as many as another token has.")
    tx_hash = s.CharField()
    position = s.IntegerField()
    sender_address = s.CharField(source="sender")
    recipient_address = s.CharField(source="recipient")
    status = s.ChoiceField(choices=TransferState.choices, source="state")
    labels = s.ListField(
        child=s.CharField(), help_text="What the payer wrote beside the money. Anybody can write anything here."
    )
    block_time = Moment()
    detected_at = Moment()
    confirmed_at = Moment(allow_null=True)
    explorer_url = s.CharField(allow_null=True, help_text="Null in test mode and on local networks.")

    def get_amount(self, transfer: Transfer) -> str:
        """Return the amount with all decimals of its token."""
        return format_units(transfer.units, transfer.decimals)

    def get_labels(self, transfer: Transfer) -> list[str]:
        """Return the labels as texts."""
        return [str(label) for label in transfer.labels]

    def get_explorer_url(self, transfer: Transfer) -> str | None:
        """Return the transaction's page in the chain's explorer."""
        is_live = transfer.mode == Mode.LIVE
        return chain_spec(transfer.chain).transaction_url(transfer.tx_hash) if is_live else None


class InboxCheckout(Answer):
    """A checkout that the money names, belonged to, or probably is for."""

    id = s.CharField(source="public_id")
    order_ref = Text(allow_null=True)
    status = s.ChoiceField(choices=CheckoutStatus.choices)
    amount = Usd(help_text="In USD, also of a checkout whose price is in another currency.")
    amount_remaining = Units()

    def get_amount_remaining(self, checkout: models.Checkout) -> str:
        """Return what is missing."""
        return format_units(remaining_units(checkout))


class InboxCandidate(InboxCheckout):
    """A checkout that a rule found, and why it was not credited."""

    why_not = s.CharField()


class InboxDecision(Answer):
    """A person's decision. It takes effect half a minute later, and can be undone until then."""

    act = s.ChoiceField(choices=InboxAct.choices)
    checkout_id = s.CharField(allow_null=True, help_text="The checkout to credit.")
    refund_tx = Text(allow_null=True, help_text="The transaction that sent the money back.")
    decided_at = Moment()
    takes_effect_at = Moment(source="due_at")
    took_effect_at = Moment(source="done_at", allow_null=True)

    def get_checkout_id(self, decision: models.InboxDecision) -> str | None:
        """Return the id of the checkout that was chosen."""
        return decision.checkout.public_id if decision.checkout else None


class InboxItem(Answer):
    """Money that no rule could credit, an alarm about a reversed payment, or a notice about a credit."""

    id = s.CharField()
    livemode = LiveMode()
    status = s.ChoiceField(choices=InboxStatus.choices)
    reason = s.ChoiceField(choices=InboxReason.choices)
    title = s.CharField(help_text="The reason for people.")
    meaning = s.CharField(help_text="What the reason means, and what can be done.")
    explanation = Text(allow_null=True, help_text="What was found about this money.")
    transfer = InboxTransfer()
    checkout = InboxCheckout(
        allow_null=True, help_text="The checkout that the money names, had paid, or probably is for."
    )
    candidates = InboxCandidate(many=True, help_text="Checkouts that the rules found, the likeliest first, at most 20.")
    decision = InboxDecision(allow_null=True, help_text="The decision in force. Null if there is none.")
    outcome = s.ChoiceField(choices=InboxOutcome.choices, allow_null=True, help_text="Null while open.")
    created_at = Moment()
    closed_at = Moment(source="resolved_at", allow_null=True)

    def get_id(self, item: models.InboxItem) -> str:
        """Return the id."""
        return item_id(item.transfer.public_id, item.reason)

    def get_checkout(self, item: models.InboxItem) -> dict[str, Any] | None:
        """Return the item's checkout."""
        return InboxCheckout.of(item.checkout) if item.checkout else None

    def get_decision(self, item: models.InboxItem) -> dict[str, Any] | None:
        """Return the decision in force."""
        standing = next(iter(getattr(item, "standing", ())), None)
        return InboxDecision.of(standing) if standing else None

    def get_outcome(self, item: models.InboxItem) -> str | None:
        """Return how the item was closed."""
        return outcome_of(item)


InboxList = paginated("InboxList", InboxItem)


def outcome_of(item: models.InboxItem) -> InboxOutcome | None:
    """Return how an item of `with_rows` was closed; None while it is open."""
    if item.status == InboxStatus.OPEN:
        return None
    if item.status == InboxStatus.CREDITED:
        if item.reason == InboxReason.REVERSED:
            return InboxOutcome.RESTORED
        if _was_accepted_late(item):
            return InboxOutcome.ACCEPTED_LATE
    return InboxOutcome(item.status)


def _was_accepted_late(item: models.InboxItem) -> bool:
    """Return whether the successor of an item's expired checkout has its money."""
    payment = getattr(item.transfer, "payment", None)
    return payment is not None and item.checkout_id is not None and payment.checkout.replaces_id == item.checkout_id


def item_objects(items: Iterable[models.InboxItem]) -> list[dict[str, Any]]:
    """Return the API's objects of items of `with_rows`: one more query for all candidates."""
    listed = list(items)
    known = _candidates(listed)
    return [_object(item, known) for item in listed]


def objects_by_key(keys: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the API's objects of items by their keys, for events."""
    items = list(with_rows(models.InboxItem.objects.filter(pk__in=keys)))
    return {item.pk: shown for item, shown in zip(items, item_objects(items), strict=True)}


Candidates = dict[tuple[int, str, str], models.Checkout]
"""Checkouts by merchant, mode and public id: an item shows those of its own merchant and mode alone."""


def _candidates(items: Sequence[models.InboxItem]) -> Candidates:
    ids = {entry["checkout"] for item in items for entry in item.candidates}
    if not ids:
        return {}
    found = models.Checkout.objects.filter(public_id__in=ids)
    return {(checkout.merchant_id, checkout.mode, checkout.public_id): checkout for checkout in found}


def _object(item: models.InboxItem, known: Candidates) -> dict[str, Any]:
    row = item_row(item)
    found = [(known.get((item.merchant_id, item.mode, entry["checkout"])), entry) for entry in item.candidates]
    candidates = [
        InboxCandidate.of(checkout, why_not=sentence(entry["why_not"])) for checkout, entry in found if checkout
    ]
    shown = InboxItem.of(
        item, title=row.words.short, meaning=row.words.meaning, explanation=row.explanation, candidates=[]
    )
    return shown | {"candidates": candidates}
