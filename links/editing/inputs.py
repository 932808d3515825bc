"""What callers ask of the link services, read and checked already."""

from dataclasses import dataclass
from decimal import Decimal

from accounts.models import User
from links.models import Subscription
from links.states import Interval, LinkType


@dataclass(frozen=True, slots=True)
class Person:
    """Who makes or changes a link, and from where: a person, or without one the API key that `label` names."""

    user: User | None
    address: str | None
    label: str = ""


@dataclass(frozen=True, slots=True)
class LinkFields:
    """What a merchant says about a link. `metadata` is compact JSON text."""

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
    """What a merchant says about a template."""

    title: str
    description: str
    type: LinkType
    amount: Decimal | None
    metadata: str


@dataclass(frozen=True, slots=True)
class PayIntent:
    """What a payer asks for by pressing Pay.

    `form` names the form that was pressed, so that pressing it twice asks for one thing. `amount` is what a donor chose,
    `email` where a new subscriber wants reminders, `subscription` whose personal link it is.
    """

    form: str
    amount: Decimal | None = None
    email: str = ""
    subscription: Subscription | None = None
