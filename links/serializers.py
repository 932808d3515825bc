"""Links and templates as the API takes and shows them: the only place beside the models that names their fields."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy
from rest_framework import serializers as s

from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.serializers import Currency, Price, Reference
from gateway.core.api.fields import missing, price_of, refuse, usd_of, usd_within
from gateway.core.api.openapi import paginated
from gateway.core.api.serializers import (
    Answer,
    ApiField,
    Body,
    EnumField,
    Flag,
    LiveMode,
    Metadata,
    Moment,
    Text,
    WebUrl,
)
from gateway.core.currencies import USD, format_price, readable_price
from gateway.core.money import format_usd
from links import models
from links.models import DESCRIPTION_LENGTH, TITLE_LENGTH
from links.states import Interval, LinkStatus, LinkType
from links.tokens import link_url
from rates.selectors import is_priced

MOST_SUGGESTIONS: Final = 6
FIXED: Final = ("type", "currency", "interval")
"""Fields that no change may touch: another interval would change the meaning of earlier payments."""
_ADDRESSES: Final = ("redirect_url", "webhook_url")
FIELDS_OF: Final = {
    LinkType.DONATION: ("min_amount", "max_amount", "suggested_amounts"),
    LinkType.SUBSCRIPTION: ("interval",),
}
"""Fields of links of one type only."""
# Not a `default` of the field: generators of clients would make it required.
_TYPE_IF_ABSENT: Final = f"`{LinkType.CUSTOM}` if absent."
_INVITATIONS: Final[Mapping[str, str]] = {
    LinkType.INVOICE: "{merchant} asks for {amount}: {title}",
    LinkType.DONATION: "Give to {merchant}: {title}",
    LinkType.SUBSCRIPTION: "{title} by {merchant}, {amount} a {interval}",
    LinkType.CUSTOM: "{title} by {merchant}, {amount}",
}

Values = Mapping[str, Any]


class PriceList(ApiField, s.ListField):
    """A short list of prices, stored as texts. The body checks each price."""

    absent = ()
    answers_null = False
    child = s.CharField()

    def as_sent(self, value: list[str]) -> list[str] | None:
        """Return the list; None if it is empty."""
        return value or None

    def to_internal_value(self, value: Any) -> list[Any]:
        """Return the list as sent. Raises InvalidRequestError."""
        if not isinstance(value, list) or len(value) > MOST_SUGGESTIONS:
            raise refuse(self.name, f"{self.name} must be a list of at most {MOST_SUGGESTIONS}.")
        return value


def share_text(link: models.PaymentLink) -> str:
    """Return one line to paste into a message, with payee, purpose and address."""
    words = _INVITATIONS[link.type].format(
        merchant=link.merchant.shown_name, title=link.title, amount=_shared(link), interval=link.interval
    )
    return f"{words} {link_url(link.code)}"


def _shared(link: models.PaymentLink) -> str:
    if link.amount is None:
        return ""
    amount = readable_price(link.amount, link.currency)
    return f"${amount}" if link.currency == USD else f"{amount} {link.currency}"


class PaymentLink(Answer):
    """A payment link."""

    id = s.CharField(source="public_id", read_only=True)
    title = Text(
        max_length=TITLE_LENGTH,
        trim_whitespace=True,
        required=False,
        body_help="Required, unless `template` names one that has it.",
        label=pgettext_lazy("team", "Title"),
        hint=pgettext_lazy("team", "What the payer buys. It is the page's heading."),
        style={"autocomplete": "off"},
    )
    description = Text(
        max_length=DESCRIPTION_LENGTH,
        required=False,
        allow_null=True,
        label=pgettext_lazy("team", "Description"),
        style={"rows": 3},
    )
    amount = Price(
        required=False,
        allow_null=True,
        body_help='A string with at most two decimals, "0.10" to "1000000.00" USD. In another currency: with its decimals, and worth'
        " as much when it is paid. Needed unless payers choose it (donation).",
        label=pgettext_lazy("team", "Amount in USD"),
        hint=pgettext_lazy("team", "From 0.10 to 1,000,000.00"),
    )
    currency = Currency(
        required=False,
        body_help="`USD` if absent, or what `GET /currencies` lists; donations are in USD. Each press of Pay converts the price.",
    )
    type = EnumField(LinkType, required=False, absent=LinkType.CUSTOM, body_help=_TYPE_IF_ABSENT)
    metadata = Metadata(
        required=False,
        allow_null=True,
        body_help="At most 4,096 bytes. Each checkout made from the link has it, and `link_id` besides.",
        label=pgettext_lazy("team", "Metadata"),
        hint=pgettext_lazy(
            "team", "A JSON object that each payment carries, such as {&quot;campaign&quot;: &quot;spring&quot;}."
        ),
    )
    status = s.ChoiceField(LinkStatus.choices, read_only=True)
    url = s.URLField(read_only=True)
    livemode = LiveMode()
    created_at = Moment()
    updated_at = Moment()
    payments_count = s.IntegerField(read_only=True, help_text="Completed checkouts.")
    amount_collected = s.CharField(
        read_only=True, help_text="What these received, with six decimals like `amount_received`."
    )
    min_amount = Price(
        required=False,
        allow_null=True,
        body_help="Donations only.",
        label=pgettext_lazy("team", "Minimum amount"),
        hint=pgettext_lazy("team", "In USD"),
    )
    max_amount = Price(
        required=False,
        allow_null=True,
        body_help="Donations only.",
        label=pgettext_lazy("team", "Maximum amount"),
        hint=pgettext_lazy("team", "In USD"),
    )
    suggested_amounts = PriceList(
        required=False,
        allow_null=True,
        max_length=MOST_SUGGESTIONS,
        body_help="Donations only: amounts to choose with one press.",
        label=pgettext_lazy("team", "Suggested amounts"),
        hint=format_lazy(
            pgettext_lazy("team", "Suggested amounts, at most {count}, such as 10, 25, 100."), count=MOST_SUGGESTIONS
        ),
        style={"autocomplete": "off"},
    )
    interval = EnumField(
        Interval,
        required=False,
        allow_null=True,
        body_help="Subscriptions only: how long one payment lasts. Default `month`.",
        label=pgettext_lazy("team", "Paid each"),
        hint=pgettext_lazy("team", "It cannot be changed later."),
        initial=Interval.MONTH,
    )
    redirect_url = WebUrl(
        required=False,
        allow_null=True,
        label=pgettext_lazy("team", "Return address"),
        hint=pgettext_lazy("team", "The payer returns to this address afterwards."),
    )
    webhook_url = WebUrl(
        public=True,
        required=False,
        allow_null=True,
        label=pgettext_lazy("team", "Webhook URL"),
        hint=pgettext_lazy("team", "Where events of these payments go, instead of your usual one."),
    )
    customer_ref = Reference(
        body_help="Given to checkouts of invoice links; on the others strangers would share it.",
        label=pgettext_lazy("team", "Customer reference"),
    )
    product_ref = Reference(label=pgettext_lazy("team", "Product reference"))
    escrow = Flag(
        required=False,
        allow_null=True,
        body_help="Whether its checkouts are created with `escrow`. From the next payment on.",
        label=pgettext_lazy("team", "Hold what is paid in escrow"),
        hint=pgettext_lazy(
            "team",
            "It waits in its deposit address until you release it. Only networks with deposit addresses, such as Base and Polygon,"
            " are offered.",
        ),
    )
    template = s.CharField(read_only=True, allow_null=True)
    share_text = s.CharField(read_only=True, help_text="One line to paste into a message.")

    def get_url(self, link: models.PaymentLink) -> str:
        """Return the address of the link's page."""
        return link_url(link.code)

    def get_amount(self, link: models.PaymentLink) -> str | None:
        """Return the price with its currency's decimals."""
        return None if link.amount is None else format_price(link.amount, link.currency)

    def get_template(self, link: models.PaymentLink) -> str | None:
        """Return the id of the template that the link was made from."""
        return link.template.public_id if link.template else None

    def get_share_text(self, link: models.PaymentLink) -> str:
        """Return the line to share."""
        return share_text(link)


class NewLink(Body, PaymentLink):
    """Body of `POST /links`."""

    # Other fields depend on the type, and amounts on their range.
    first = (
        "type",
        "min_amount",
        "max_amount",
        "title",
        "description",
        "amount",
        "currency",
        "suggested_amounts",
        "interval",
    )
    template = s.CharField(
        required=False, allow_null=True, help_text="The id of a template, whose values stand where this body has none."
    )

    def may_be_in(self, currency: Any) -> bool:
        """Return whether its price may be in a currency, which is not USD."""
        return is_priced(currency)

    def read_type(self, body: Values, _: Values) -> LinkType:
        """Return the type. Raises InvalidRequestError also for fields of donations in another link."""
        kind: LinkType = self.read_fields["type"].read(body)
        if kind != LinkType.DONATION:
            _refuse_fields_of(LinkType.DONATION, body)
        return kind

    def read_max_amount(self, body: Values, values: Values) -> Decimal | None:
        """Return the largest donation, which is at least the smallest. Raises InvalidRequestError."""
        low: Decimal | None = values["min_amount"]
        high: Decimal | None = self.read_fields["max_amount"].read(body)
        if low is not None and high is not None and low > high:
            raise refuse("max_amount", "max_amount must be at least min_amount.")
        return high

    def read_title(self, body: Values, _: Values) -> str:
        """Return the title. Raises InvalidRequestError."""
        title: str = self.read_fields["title"].read(body)
        if not title:
            raise missing("title")
        return title

    def read_amount(self, body: Values, values: Values) -> Decimal | None:
        """Return the price, or the initial amount of a donation. Raises InvalidRequestError."""
        currency = body.get("currency")
        if currency not in (None, USD) and self.may_be_in(currency):
            return _other_price(body.get("amount"), str(currency), values["type"])
        amount: Decimal | None = self.read_fields["amount"].read(body)
        if amount is not None:
            return _within(amount, values["min_amount"], values["max_amount"], "amount")
        if values["type"] != LinkType.DONATION:
            raise missing("amount")
        return None

    def read_suggested_amounts(self, body: Values, values: Values) -> list[str]:
        """Return the amounts as texts, each once. Raises InvalidRequestError."""
        name, low, high = "suggested_amounts", values["min_amount"], values["max_amount"]
        sent = self.read_fields[name].read(body)
        amounts = [_within(usd_of(one, name, MIN_AMOUNT, MAX_AMOUNT), low, high, name) for one in sent]
        return list(map(format_usd, dict.fromkeys(amounts)))

    def read_interval(self, body: Values, values: Values) -> str:
        """Return a subscription's interval; "" for other links. Raises InvalidRequestError."""
        if values["type"] != LinkType.SUBSCRIPTION:
            _refuse_fields_of(LinkType.SUBSCRIPTION, body)
            return ""
        return self.read_fields["interval"].read(body) or Interval.MONTH


class _StoredLink(NewLink):
    """A link with its changes: its currency stays, also one that was taken out of PRICE_CURRENCIES meanwhile."""

    def may_be_in(self, currency: Any) -> bool:
        """Return True: it was allowed when the link was made."""
        return True

    def read_currency(self, body: Values, _: Values) -> str:
        """Return the currency as it is stored."""
        return str(body["currency"])


class LinkChanges(Body, PaymentLink):
    """Body of `PATCH /links/{id}`: what is absent stays. Type, currency and interval cannot be changed."""

    left_out = FIXED
    title = Text(max_length=TITLE_LENGTH, required=False)


def read_changes(link: models.PaymentLink, body: Values) -> dict[str, Any]:
    """Read the body of `PATCH /links/{id}`: absent fields stay. Raises InvalidRequestError."""
    before = NewLink.as_sent(link)
    if link.amount is not None:
        before["amount"] = format_price(link.amount, link.currency)
    for name in FIXED:
        if body.get(name) not in (None, before[name]):
            raise refuse(name, f"{name} cannot be changed; make another link.")
    kept = {name: before[name] for name in FIXED}
    # Which addresses are allowed may have changed since they were stored.
    unsent = {name: getattr(link, name) for name in _ADDRESSES if name not in body}
    wanted = before | dict(body) | kept
    return _StoredLink.read({name: value for name, value in wanted.items() if name not in unsent}) | unsent


class NewLinkStatus(Body):
    """Body of `PATCH /links/{id}/status`."""

    status = EnumField(LinkStatus, code="status_invalid")


class LinkTemplate(Answer):
    """Defaults that a link can be made from."""

    id = s.CharField(source="public_id", read_only=True)
    title = Text(max_length=TITLE_LENGTH, trim_whitespace=True)
    description = Text(max_length=DESCRIPTION_LENGTH, required=False, allow_null=True)
    type = EnumField(LinkType, required=False, absent=LinkType.CUSTOM, body_help=_TYPE_IF_ABSENT)
    amount = Price(required=False, allow_null=True)
    metadata = Metadata(required=False, allow_null=True)
    livemode = LiveMode()
    created_at = Moment()


class NewLinkTemplate(Body, LinkTemplate):
    """Body of `POST /link_templates`."""

    first = ("type",)


class DeletedTemplate(s.Serializer[None]):
    """What is left of a template."""

    id = s.CharField()
    deleted = s.BooleanField()


LinkList = paginated("LinkList", PaymentLink)
LinkTemplateList = paginated("LinkTemplateList", LinkTemplate)


def _other_price(value: Any, currency: str, kind: LinkType) -> Decimal:
    """Return a link's price in another currency than USD. Its worth is limited when it is paid."""
    if kind == LinkType.DONATION:
        raise refuse("currency", "Donations are in USD.", "currency_unsupported")
    if value is None:
        raise missing("amount")
    return price_of(value, "amount", currency)


def _within(amount: Decimal, low: Decimal | None, high: Decimal | None, name: str) -> Decimal:
    return usd_within(amount, name, low or MIN_AMOUNT, high or MAX_AMOUNT)


def _refuse_fields_of(owner: LinkType, body: Values) -> None:
    for name in FIELDS_OF[owner]:
        if body.get(name) is not None:
            raise refuse(name, f"{name} belongs to links of type {owner}.")
