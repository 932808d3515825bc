"""Creates the checkout for a press of the Pay button: one per form, invoice or period, however often it is pressed."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, connection, transaction

from accounts.states import Mode
from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.creation.forms import default_expiry
from checkouts.creation.references import reference_in
from checkouts.creation.service import create_checkout
from checkouts.inputs import NewCheckout
from checkouts.models import Checkout
from checkouts.states import TestScenario
from checkouts.till.service import note_sale_of_link
from gateway.core import json
from gateway.core.api.errors import ConflictError
from gateway.core.api.fields import typed_usd_of
from gateway.core.money import format_usd
from links.models import LinkCheckout, PaymentLink, Subscription
from links.selectors import INVOICE_SLOT, attempts_of, has_completed_checkout, paid_moments, present_checkout
from links.states import Interval, LinkStatus, LinkType
from links.subscriptions.periods import coverage
from links.tokens import link_url, personal_url
from rates.selectors import is_sold_in

# A request that loses the race finds the winner's checkout on the next try.
_LOOKS = 5
# Against concurrent edits: an edit waits for payments being begun, and they see its result.
_HOLD = "SELECT FROM links_paymentlink WHERE id = %s FOR SHARE"


class NotPayableError(Exception):
    """The link takes no payment now: it is paused, archived, an invoice that was paid, or in a currency that is no longer converted."""


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


class _RivalAttemptError(Exception):
    """Another request created this attempt's checkout first."""


@dataclass(frozen=True, slots=True)
class _Sale:
    """The link, the slot and the payer of a sale."""

    link: PaymentLink
    amount: Decimal
    slot: str
    email: str
    subscription: Subscription | None
    is_personal: bool


def parse_donation(text: str, link: PaymentLink) -> Decimal:
    """Parse a donor's typed or selected amount. Raises InvalidRequestError."""
    return typed_usd_of(text, "amount", link.min_amount or MIN_AMOUNT, link.max_amount or MAX_AMOUNT)


def pay(link_id: int, intent: PayIntent, *, now: datetime) -> str:
    """Return the page code of the checkout for a payer's request; a new one unless one is still open or paid, or has money.

    Identical concurrent calls create one checkout. Raises NotPayableError, and ConflictError where the merchant cannot be
    paid now (receiving_wallet_missing, capacity_exhausted), RateUnavailableError and InvalidRequestError (amount_out_of_range) where its
    price cannot be converted. A subscriber's next period is payable near its beginning.
    """
    for _ in range(_LOOKS):
        try:
            with transaction.atomic():
                return _checkout_code(_held(link_id), intent, now)
        except _RivalAttemptError:
            continue
    raise ConflictError("The same payment is being started elsewhere. Try again.")


def _held(link_id: int) -> PaymentLink:
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, [link_id])
    return PaymentLink.objects.select_related("merchant").get(pk=link_id)


def _checkout_code(link: PaymentLink, intent: PayIntent, now: datetime) -> str:
    if link.status != LinkStatus.ACTIVE or link.merchant.closed_at:
        raise NotPayableError
    if link.type == LinkType.INVOICE and has_completed_checkout(link):
        raise NotPayableError
    if intent.subscription and not _may_renew(link, intent.subscription, now):
        raise NotPayableError
    slot = slot_of(link, intent)
    # One look: of two requests that see the same attempts both take the next number, and the slot's constraint refuses the second.
    attempts = attempts_of(link, slot, first_of=_who_never_paid(intent))
    if present := present_checkout(link, attempts, _amount(link, intent)):
        return present.code
    if not is_sold_in(link.currency):
        raise NotPayableError
    made = max((one.attempt for one in attempts if one.slot == slot), default=0)
    return _new_checkout(_sale(link, intent, slot, attempts[0] if attempts else None, now), made + 1, now)


def begun_checkout(link: PaymentLink, subscription: Subscription | None) -> Checkout | None:
    """Return the checkout that a press of Pay would lead to without a new one: of an invoice, or of a subscriber's next period."""
    if link.type != LinkType.INVOICE and subscription is None:
        return None
    intent = PayIntent(form="", subscription=subscription)
    attempts = attempts_of(link, slot_of(link, intent), first_of=_who_never_paid(intent))
    return present_checkout(link, attempts, _amount(link, intent))


def _who_never_paid(intent: PayIntent) -> Subscription | None:
    """Return the owner of the personal link if their first payment, which the link's own page began, may still be open."""
    subscriber = intent.subscription
    return subscriber if subscriber and not paid_moments(subscriber) else None


def _may_renew(link: PaymentLink, subscription: Subscription, now: datetime) -> bool:
    """Whether the next period can be paid; False on an old page if it was paid elsewhere meanwhile."""
    covered = coverage(paid_moments(subscription), Interval(link.interval))
    return covered is None or now >= covered.renewable_at


def slot_of(link: PaymentLink, intent: PayIntent) -> str:
    """Return the slot, which is paid once: the invoice, a subscriber's next period, or one form's request."""
    if link.type == LinkType.INVOICE:
        return INVOICE_SLOT
    if intent.subscription is not None:
        paid = len(paid_moments(intent.subscription))
        return f"{intent.subscription.public_id}:{paid}"
    # A different amount after going back is a different request.
    return f"{intent.form}:{format_usd(_amount(link, intent))}"


def _amount(link: PaymentLink, intent: PayIntent) -> Decimal:
    amount = intent.amount if link.type == LinkType.DONATION else link.amount
    if amount is None:  # the link became another one while its page was open
        raise NotPayableError
    return amount


def _sale(link: PaymentLink, intent: PayIntent, slot: str, last: LinkCheckout | None, now: datetime) -> _Sale:
    subscription = intent.subscription or (last.subscription if last else None)
    if link.type == LinkType.SUBSCRIPTION and subscription is None:
        subscription = Subscription.objects.create(link=link, email=intent.email, created_at=now)
    return _Sale(
        link=link,
        amount=_amount(link, intent),
        slot=slot,
        email=subscription.email if subscription else "",
        subscription=subscription,
        is_personal=intent.subscription is not None,
    )


def _new_checkout(sale: _Sale, attempt: int, now: datetime) -> str:
    link = sale.link
    created = create_checkout(link.merchant_id, Mode(link.mode), _wanted(sale), now=now)
    try:
        with transaction.atomic():
            LinkCheckout.objects.create(
                link=link, checkout_id=created.row.id, slot=sale.slot, attempt=attempt, subscription=sale.subscription
            )
    except IntegrityError as error:
        # The unique constraint decides which request wins; leaving the block rolls back the checkout created here.
        raise _RivalAttemptError from error
    # It may have become another one since a terminal began to follow it.
    if link.can_be_followed:
        note_sale_of_link(link.merchant_id, Mode(link.mode), link.public_id, created.row.id, now=now)
    return created.row.code


def _wanted(sale: _Sale) -> NewCheckout:
    link = sale.link
    metadata = json.loads(link.metadata.encode())
    return NewCheckout(
        amount=sale.amount,
        currency=link.currency,
        description=link.title,
        metadata=_metadata(metadata, sale),
        customer_email=sale.email,
        redirect_url=_redirect_url(sale),
        webhook_url=link.webhook_url,
        again_url=_again_url(sale),
        expires_in=default_expiry(link.currency),
        customer_ref=_customer_ref(sale),
        product_ref=link.product_ref,
        order_ref=reference_in(metadata, "order_ref"),
        test_scenario=TestScenario.COMPLETED,
        is_repeatable=False,
        escrow=link.escrow,
    )


def _metadata(metadata: dict[str, object], sale: _Sale) -> str:
    ours = {"link_id": sale.link.public_id}
    if sale.subscription is not None:
        ours["subscription_id"] = sale.subscription.public_id
    return json.dumps(metadata | ours).decode()


def _redirect_url(sale: _Sale) -> str:
    """Return the redirect address: without a shop, a subscriber's own page."""
    if sale.link.redirect_url or sale.subscription is None:
        return sale.link.redirect_url
    return personal_url(sale.subscription)


def _again_url(sale: _Sale) -> str:
    if sale.is_personal and sale.subscription is not None:
        return personal_url(sale.subscription)
    return link_url(sale.link.code)


def _customer_ref(sale: _Sale) -> str:
    """Return the buyer's reference only if there is a single buyer: strangers with a shared one would be confused."""
    if sale.is_personal and sale.subscription is not None:
        return sale.subscription.public_id
    return sale.link.customer_ref if sale.link.type == LinkType.INVOICE else ""
