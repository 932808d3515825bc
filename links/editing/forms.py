"""Inputs of the link services, and the parsers that make them from requests and payers' forms."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import TextChoices

from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.creation.forms import (
    CURRENCY,
    amount_in,
    amount_of,
    currency_of,
    escrow_in,
    metadata_text,
    redirect_url_in,
    webhook_url_in,
)
from checkouts.creation.references import reference_of
from gateway.core import json
from gateway.core.api.fields import missing, refuse, text_in
from gateway.core.money import format_usd
from gateway.core.outbound import UrlPolicy
from links.models import DESCRIPTION_LENGTH, TITLE_LENGTH, LinkTemplate, PaymentLink, Subscription
from links.states import Interval, LinkStatus, LinkType

MOST_SUGGESTIONS = 6
Body = Mapping[str, Any]
C = TypeVar("C", bound=TextChoices)


@dataclass(frozen=True, slots=True)
class LinkFields:
    """The fields of a link. `metadata` is compact JSON text."""

    title: str
    description: str
    type: LinkType
    amount: Decimal | None
    currency: str
    min_amount: Decimal | None
    max_amount: Decimal | None
    suggested_amounts: tuple[Decimal, ...]
    interval: Interval | None
    metadata: str
    redirect_url: str
    webhook_url: str
    customer_ref: str
    product_ref: str
    escrow: bool


@dataclass(frozen=True, slots=True)
class TemplateFields:
    """The fields of a template."""

    title: str
    description: str
    type: LinkType
    amount: Decimal | None
    metadata: str


@dataclass(frozen=True, slots=True)
class PayIntent:
    """A payer's press of the Pay button.

    `form` identifies the form, so that a double press counts once. `amount` is a donor's choice, `email` is where a new
    subscriber gets reminders, `subscription` is the owner of the personal link.
    """

    form: str
    amount: Decimal | None = None
    email: str = ""
    subscription: Subscription | None = None


def parse_link(body: Body, urls: UrlPolicy) -> LinkFields:
    """Read the body of `POST /links`. Raises InvalidRequestError naming the parameter."""
    kind = _choice(body, "type", LinkType) or LinkType.CUSTOM
    low, high = _donation_range(body, kind)
    metadata = _metadata(body)
    return LinkFields(
        title=_title(body),
        description=text_in(body, "description", DESCRIPTION_LENGTH),
        type=kind,
        amount=_amount(body, kind, low, high),
        currency=_currency(body),
        min_amount=low,
        max_amount=high,
        suggested_amounts=_suggested_amounts(body, kind, low, high),
        interval=_interval(body, kind),
        metadata=metadata_text(metadata),
        redirect_url=redirect_url_in(body, urls),
        webhook_url=webhook_url_in(body, urls),
        customer_ref=reference_of(body, metadata, "customer_ref"),
        product_ref=reference_of(body, metadata, "product_ref"),
        escrow=escrow_in(body),
    )


def parse_changes(link: PaymentLink, body: Body, urls: UrlPolicy) -> LinkFields:
    """Parse the body of `PATCH /links/{id}`: absent fields stay. Raises InvalidRequestError."""
    before = _body_of(link)
    # Another interval would change the meaning of earlier payments.
    for name in ("type", "currency", "interval"):
        if body.get(name) not in (None, before[name]):
            raise refuse(name, f"{name} cannot be changed; make another link.")
    kept = {name: before[name] for name in ("type", "currency", "interval")}
    return parse_link(before | dict(body) | kept, urls)


def parse_template(body: Body) -> TemplateFields:
    """Read the body of `POST /link_templates`. Raises InvalidRequestError."""
    kind = _choice(body, "type", LinkType) or LinkType.CUSTOM
    return TemplateFields(
        title=_title(body),
        description=text_in(body, "description", DESCRIPTION_LENGTH),
        type=kind,
        amount=None if body.get("amount") is None else amount_in(body),
        metadata=metadata_text(_metadata(body)),
    )


def with_defaults(body: Body, template: LinkTemplate) -> dict[str, Any]:
    """Return the body of a new link with a template's values where it has none of its own."""
    return _body_of(template) | dict(body)


def template_id_in(body: Body) -> str:
    """Parse the template of a new link; "" for none."""
    return text_in(body, "template", 40)


def parse_status(body: Body) -> LinkStatus:
    """Read the body of `PATCH /links/{id}/status`. Raises InvalidRequestError (status_invalid)."""
    value = body.get("status")
    if value is None:
        raise missing("status")
    if not isinstance(value, str) or value not in LinkStatus.values:
        known = ", ".join(LinkStatus.values)
        raise refuse("status", f"status must be one of {known}.", "status_invalid")
    return LinkStatus(value)


def _body_of(source: PaymentLink | LinkTemplate) -> dict[str, Any]:
    """Return a link or a template as the request that would create it."""
    body: dict[str, Any] = {
        "title": source.title,
        "description": source.description,
        "type": source.type,
        "amount": _written(source.amount),
        "metadata": json.loads(source.metadata.encode()),
    }
    if isinstance(source, LinkTemplate):
        return body
    return body | {
        "currency": source.currency,
        "min_amount": _written(source.min_amount),
        "max_amount": _written(source.max_amount),
        "suggested_amounts": source.suggested_amounts or None,
        "interval": source.interval or None,
        "redirect_url": source.redirect_url,
        "webhook_url": source.webhook_url,
        "customer_ref": source.customer_ref,
        "product_ref": source.product_ref,
        "escrow": source.escrow,
    }


def _written(amount: Decimal | None) -> str | None:
    return None if amount is None else format_usd(amount)


def _choice(body: Body, name: str, choices: type[C]) -> C | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or value not in choices.values:
        known = ", ".join(choices.values)
        raise refuse(name, f"{name} must be one of {known}.")
    return choices(value)


def _title(body: Body) -> str:
    title = text_in(body, "title", TITLE_LENGTH).strip()
    if not title:
        raise missing("title")
    return title


def _currency(body: Body) -> str:
    value = body.get("currency")
    return CURRENCY if value is None else currency_of(value)


def _metadata(body: Body) -> Any:
    metadata = body.get("metadata")
    return {} if metadata is None else metadata


def _amount(body: Body, kind: LinkType, low: Decimal | None, high: Decimal | None) -> Decimal | None:
    if kind != LinkType.DONATION:
        return amount_in(body)
    if body.get("amount") is None:
        return None
    return _within(amount_in(body), low, high, "amount")


def _donation_range(body: Body, kind: LinkType) -> tuple[Decimal | None, Decimal | None]:
    names = ("min_amount", "max_amount")
    if kind != LinkType.DONATION:
        _refuse_others(body, (*names, "suggested_amounts"), LinkType.DONATION)
        return None, None
    low, high = (None if body.get(name) is None else amount_in(body, name) for name in names)
    if low is not None and high is not None and low > high:
        raise refuse("max_amount", "max_amount must be at least min_amount.")
    return low, high


def _suggested_amounts(body: Body, kind: LinkType, low: Decimal | None, high: Decimal | None) -> tuple[Decimal, ...]:
    name = "suggested_amounts"
    value = body.get(name)
    if kind != LinkType.DONATION or value is None:
        return ()
    if not isinstance(value, list) or len(value) > MOST_SUGGESTIONS:
        raise refuse(name, f"{name} must be a list of at most {MOST_SUGGESTIONS}.")
    amounts = [_within(amount_of(item, name), low, high, name) for item in value]
    return tuple(dict.fromkeys(amounts))


def _within(amount: Decimal, low: Decimal | None, high: Decimal | None, name: str) -> Decimal:
    least, most = low or MIN_AMOUNT, high or MAX_AMOUNT
    if not least <= amount <= most:
        raise refuse(name, f"{name} must be from {format_usd(least)} to {format_usd(most)}.", "amount_out_of_range")
    return amount


def _interval(body: Body, kind: LinkType) -> Interval | None:
    if kind != LinkType.SUBSCRIPTION:
        _refuse_others(body, ("interval",), LinkType.SUBSCRIPTION)
        return None
    return _choice(body, "interval", Interval) or Interval.MONTH


def _refuse_others(body: Body, names: tuple[str, ...], owner: LinkType) -> None:
    for name in names:
        if body.get(name) is not None:
            raise refuse(name, f"{name} belongs to links of type {owner}.")


def parse_donation(text: str, link: PaymentLink) -> Decimal:
    """Parse a donor's typed or selected amount. Raises InvalidRequestError."""
    # People may type a decimal comma or a dollar sign.
    plain = text.strip().removeprefix("$").strip().replace(",", ".")
    return _within(amount_of(plain, "amount"), link.min_amount, link.max_amount, "amount")
