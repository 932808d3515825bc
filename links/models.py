"""Payment links, the checkouts made from them, and subscribers."""

from functools import partial

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import REFERENCE_LENGTH, Checkout
from gateway.core.ids import new_code, new_id
from gateway.core.money import USD_DIGITS
from links.states import Interval, LinkStatus, LinkType, MailKind

TITLE_LENGTH = 120
DESCRIPTION_LENGTH = 256
URL_LENGTH = 2048
EMAIL_LENGTH = 254


class LinkTemplate(models.Model):
    """Default values of links. A link keeps its values, whatever happens to the template."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "ltp"))
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="link_templates", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    title = models.CharField(max_length=TITLE_LENGTH)
    type = models.CharField(max_length=12, choices=LinkType)
    amount = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2, null=True)
    description = models.CharField(max_length=DESCRIPTION_LENGTH, blank=True)
    # JSON text as the merchant sent it, here and below.
    metadata = models.TextField(default="{}")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["merchant", "mode", "-id"], name="link_template_list")]

    def __str__(self) -> str:
        return self.title


class PaymentLink(models.Model):
    """An address that can be shared: each payment through it makes a checkout."""

    public_id = models.CharField(max_length=40, unique=True)
    # The page's code; never the id, so neither reveals the other.
    code = models.CharField(max_length=32, unique=True, default=new_code)
    # No index of its own: that of the list begins with it.
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="payment_links", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    type = models.CharField(max_length=12, choices=LinkType, default=LinkType.CUSTOM)
    status = models.CharField(max_length=8, choices=LinkStatus, default=LinkStatus.ACTIVE)
    title = models.CharField(max_length=TITLE_LENGTH)
    description = models.CharField(max_length=DESCRIPTION_LENGTH, blank=True)
    # The initial amount of a donation's field.
    amount = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2, null=True)
    # Of `amount`. A press of Pay converts it.
    currency = models.CharField(max_length=3, default="USD")
    min_amount = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2, null=True)
    max_amount = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2, null=True)
    # Amounts as text, such as ["5.00", "25.00"].
    suggested_amounts = models.JSONField(default=list)
    interval = models.CharField(max_length=5, choices=Interval, blank=True)
    metadata = models.TextField(default="{}")
    redirect_url = models.CharField(max_length=URL_LENGTH, blank=True)
    webhook_url = models.CharField(max_length=URL_LENGTH, blank=True)
    customer_ref = models.CharField(max_length=REFERENCE_LENGTH, blank=True)
    product_ref = models.CharField(max_length=REFERENCE_LENGTH, blank=True)
    # Of the checkouts made from it.
    escrow = models.BooleanField(default=False, db_default=False)
    template = models.ForeignKey(LinkTemplate, models.SET_NULL, null=True, related_name="links")
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(type__in=LinkType.values), name="link_type_known"),
            models.CheckConstraint(condition=Q(status__in=LinkStatus.values), name="link_status_known"),
            models.CheckConstraint(
                condition=Q(type=LinkType.DONATION) | Q(amount__gt=0), name="link_amount_unless_donation"
            ),
            models.CheckConstraint(
                condition=Q(type=LinkType.SUBSCRIPTION, interval__in=Interval.values)
                | ~Q(type=LinkType.SUBSCRIPTION) & Q(interval=""),
                name="link_interval_of_subscriptions",
            ),
        ]
        indexes = [
            models.Index(fields=["merchant", "mode", "-id"], name="link_list"),
            models.Index(fields=["merchant", "mode", "status", "-id"], name="link_by_status"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def can_be_followed(self) -> bool:
        """Whether a terminal may show its payments: it is paid at once by anybody, so that no payment belongs to one customer."""
        return self.type in {LinkType.CUSTOM, LinkType.DONATION} and not self.escrow


class Subscription(models.Model):
    """A subscriber of a link, identified only by a personal link."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "sub"))
    link = models.ForeignKey(PaymentLink, models.PROTECT, related_name="subscriptions")
    # Where reminders go; empty for none.
    email = models.CharField(max_length=EMAIL_LENGTH, blank=True)
    # From settled checkouts, for reminders. Pages read the checkouts themselves.
    paid_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["paid_until"], condition=~Q(email=""), name="subscription_to_remind")]

    def __str__(self) -> str:
        return self.public_id


class LinkCheckout(models.Model):
    """A checkout made from a link.

    `slot` identifies what is paid: the invoice, one submitted form, one period of a subscription. A slot has one checkout
    at a time: the next attempt is made only after the one before it expired.
    """

    link = models.ForeignKey(PaymentLink, models.PROTECT, related_name="checkouts", db_index=False)
    checkout = models.OneToOneField(Checkout, models.PROTECT, related_name="+")
    slot = models.CharField(max_length=120)
    attempt = models.PositiveIntegerField()
    subscription = models.ForeignKey(Subscription, models.PROTECT, null=True, related_name="checkouts")
    # When a subscription's final checkout was counted.
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["link", "slot", "attempt"], name="one_checkout_per_attempt")]
        indexes = [
            models.Index(
                fields=["id"], condition=Q(settled_at=None, subscription__isnull=False), name="subscription_unsettled"
            )
        ]

    def __str__(self) -> str:
        return f"{self.link_id} -> {self.checkout_id}"


class SubscriberMail(models.Model):
    """Records a subscriber's mail about one period, so that it is queued once. The outbox has the mail itself."""

    subscription = models.ForeignKey(Subscription, models.CASCADE, related_name="mails", db_index=False)
    kind = models.CharField(max_length=4, choices=MailKind)
    period_end = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["subscription", "kind", "period_end"], name="subscriber_mail_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.period_end}: {self.subscription_id}"
