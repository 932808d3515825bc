"""The link API's shapes for the OpenAPI description. Never used to read or write a request (docs/adr/0003)."""

from rest_framework import serializers as s

from checkouts.creation.references import MAX_LENGTH
from gateway.core.api.openapi import PAGE_PARAMETERS, errors, paginated
from links.editing.forms import MOST_SUGGESTIONS
from links.models import DESCRIPTION_LENGTH, TITLE_LENGTH
from links.states import Interval, LinkStatus, LinkType

__all__ = [
    "PAGE_PARAMETERS",
    "STATUSES",
    "DeletedTemplate",
    "LinkChanges",
    "LinkList",
    "LinkTemplate",
    "LinkTemplateList",
    "NewLink",
    "NewLinkStatus",
    "NewLinkTemplate",
    "PaymentLink",
    "errors",
]

STATUSES = list(LinkStatus.values)
# Not a `default` of the field: generators of clients would make it required.
_TYPE_IF_ABSENT = f"`{LinkType.CUSTOM}` if absent."


class LinkChanges(s.Serializer[None]):
    """Body of `PATCH /links/{id}`: what is absent stays. Type, currency and interval cannot be changed."""

    title = s.CharField(required=False, max_length=TITLE_LENGTH)
    description = s.CharField(required=False, allow_null=True, max_length=DESCRIPTION_LENGTH)
    amount = s.CharField(
        required=False,
        allow_null=True,
        help_text='USD as a string with at most two decimals, "0.10" to "1000000.00". Needed unless payers choose it (donation).',
    )
    metadata = s.DictField(
        required=False,
        allow_null=True,
        help_text="At most 4,096 bytes. Each checkout made from the link has it, and `link_id` besides.",
    )
    min_amount = s.CharField(required=False, allow_null=True, help_text="Donations only.")
    max_amount = s.CharField(required=False, allow_null=True, help_text="Donations only.")
    suggested_amounts = s.ListField(
        child=s.CharField(),
        required=False,
        allow_null=True,
        max_length=MOST_SUGGESTIONS,
        help_text="Donations only: amounts to choose with one press.",
    )
    redirect_url = s.URLField(required=False, allow_null=True)
    webhook_url = s.URLField(required=False, allow_null=True)
    customer_ref = s.CharField(
        required=False,
        allow_null=True,
        max_length=MAX_LENGTH,
        help_text="Given to checkouts of invoice links; on the others strangers would share it.",
    )
    product_ref = s.CharField(required=False, allow_null=True, max_length=MAX_LENGTH)
    escrow = s.BooleanField(
        required=False,
        allow_null=True,
        help_text="Whether its checkouts are created with `escrow`. From the next payment on.",
    )


class NewLink(LinkChanges):
    """Body of `POST /links`."""

    title = s.CharField(
        required=False, max_length=TITLE_LENGTH, help_text="Required, unless `template` names one that has it."
    )
    currency = s.ChoiceField(choices=["USD"], required=False, help_text="`USD` if absent.")
    type = s.ChoiceField(choices=LinkType.choices, required=False, help_text=_TYPE_IF_ABSENT)
    interval = s.ChoiceField(
        choices=Interval.choices,
        required=False,
        allow_null=True,
        help_text="Subscriptions only: how long one payment lasts. Default `month`.",
    )
    template = s.CharField(
        required=False, allow_null=True, help_text="The id of a template, whose values stand where this body has none."
    )


class NewLinkStatus(s.Serializer[None]):
    """Body of `PATCH /links/{id}/status`."""

    status = s.ChoiceField(choices=LinkStatus.choices)


class PaymentLink(s.Serializer[None]):
    """A payment link."""

    id = s.CharField()
    title = s.CharField()
    description = s.CharField(allow_null=True)
    amount = s.CharField(allow_null=True)
    currency = s.CharField()
    type = s.ChoiceField(choices=LinkType.choices)
    metadata = s.DictField()
    status = s.ChoiceField(choices=LinkStatus.choices)
    url = s.URLField()
    livemode = s.BooleanField()
    created_at = s.DateTimeField()
    updated_at = s.DateTimeField()
    payments_count = s.IntegerField(help_text="Completed checkouts.")
    amount_collected = s.CharField(help_text="What these received, with six decimals like `amount_received`.")
    min_amount = s.CharField(allow_null=True)
    max_amount = s.CharField(allow_null=True)
    suggested_amounts = s.ListField(child=s.CharField())
    interval = s.ChoiceField(choices=Interval.choices, allow_null=True)
    redirect_url = s.URLField(allow_null=True)
    webhook_url = s.URLField(allow_null=True)
    customer_ref = s.CharField(allow_null=True)
    product_ref = s.CharField(allow_null=True)
    escrow = s.BooleanField()
    template = s.CharField(allow_null=True)
    share_text = s.CharField(help_text="One line to paste into a message.")


class NewLinkTemplate(s.Serializer[None]):
    """Body of `POST /link_templates`."""

    title = s.CharField(max_length=TITLE_LENGTH)
    description = s.CharField(required=False, allow_null=True, max_length=DESCRIPTION_LENGTH)
    type = s.ChoiceField(choices=LinkType.choices, required=False, help_text=_TYPE_IF_ABSENT)
    amount = s.CharField(required=False, allow_null=True)
    metadata = s.DictField(required=False, allow_null=True)


class LinkTemplate(s.Serializer[None]):
    """Defaults that a link can be made from."""

    id = s.CharField()
    title = s.CharField()
    description = s.CharField(allow_null=True)
    type = s.ChoiceField(choices=LinkType.choices)
    amount = s.CharField(allow_null=True)
    metadata = s.DictField()
    livemode = s.BooleanField()
    created_at = s.DateTimeField()


class DeletedTemplate(s.Serializer[None]):
    """What is left of a template."""

    id = s.CharField()
    deleted = s.BooleanField()


LinkList = paginated("LinkList", PaymentLink)
LinkTemplateList = paginated("LinkTemplateList", LinkTemplate)
