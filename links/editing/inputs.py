"""Validated inputs of the link services."""

from dataclasses import dataclass
from decimal import Decimal

from accounts.models import User
from links.models import Subscription
from links.states import Interval, LinkType


@dataclass(frozen=True, slots=True)
class Person:
    """The actor of a change: a person, or the API key that `label` names."""

    user: User | None
    address: str | None
    label: str = ""


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
