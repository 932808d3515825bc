"""Terminals of the till: devices that sell for a merchant, and what each has sold."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Merchant, User
from accounts.states import Mode
from checkouts.models.checkouts import Checkout
from gateway.core.currencies import USD
from gateway.core.ids import new_code
from gateway.core.money import USD_DIGITS

NAME_LENGTH = 40
PIN_HASH_LENGTH = 128
MOST_TIPS = 4
MOST_PERCENT = 50
DEVICE_LENGTH = 80
LINK_LENGTH = 40
FORM_LENGTH = 64


class Terminal(models.Model):
    """A place that sells for a merchant in one mode, and the one device that may sell there.

    The device is known by a token of its own. It belongs to no person, and to no team.
    """

    public_id = models.CharField(max_length=40, unique=True)
    # Of the counter sign's page; never the id, so neither reveals the other.
    code = models.CharField(max_length=32, unique=True, default=new_code)
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="terminals", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    name = models.CharField(max_length=NAME_LENGTH)
    # What is typed at it, and its tips, are in this currency: USD, or one that the operator lets prices be in.
    currency = models.CharField(max_length=3, default=USD, db_default=USD)
    # Tips to choose from, in whole percent, such as [5, 10, 15].
    tips = models.JSONField(default=list)
    # The network whose code a sale shows first; empty for the code of the checkout's page.
    chain = models.CharField(max_length=16, blank=True)
    # The networks whose buttons stand first; the others are one tap further. Empty: all stand in one row.
    chains = ArrayField(models.CharField(max_length=16), default=list, db_default=[])
    # Whether customers may type amounts on the page of its counter sign.
    has_sign = models.BooleanField(default=False)
    # The public id of a payment link, of an app above, whose checkouts are sales of this terminal, too.
    follows = models.CharField(max_length=LINK_LENGTH, blank=True, default="", db_default="")
    # Whether the device shows the day's sums.
    shows_day = models.BooleanField(default=False)
    # SHA-256 of the device's token; null while no device is paired.
    digest = models.BinaryField(max_length=32, unique=True, null=True)
    # Of the PIN that an idle device asks for; empty: it asks for none.
    pin_hash = models.CharField(max_length=PIN_HASH_LENGTH, blank=True, default="", db_default="")
    # When a person last did something at the device, to some seconds; null: it asks for its PIN. Kept only where there is a PIN.
    active_at = models.DateTimeField(null=True)
    # SHA-256 of the code that pairs a device, once, until `pair_until`.
    pair_digest = models.BinaryField(max_length=32, unique=True, null=True)
    pair_until = models.DateTimeField(null=True)
    # The device's browser and system in words.
    device = models.CharField(max_length=DEVICE_LENGTH, blank=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now)
    paired_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(revoked_at=None) | Q(digest=None, pair_digest=None), name="terminal_revoked_has_no_device"
            ),
            models.CheckConstraint(
                condition=Q(pair_digest=None, pair_until=None) | Q(pair_digest__isnull=False, pair_until__isnull=False),
                name="terminal_pairing_ends",
            ),
            # A checkout is one sale, so a link's are of one terminal.
            models.UniqueConstraint(
                fields=["merchant", "mode", "follows"], condition=Q(follows__gt=""), name="terminal_follows_alone"
            ),
        ]
        indexes = [models.Index(fields=["merchant", "mode", "-id"], name="terminal_list")]

    def __str__(self) -> str:
        return self.public_id


LINK_FORM = "link:"
"""Begins the `form` of the sales of a followed link. A device's own forms have no colon there."""


class TerminalSale(models.Model):
    """A checkout that was made at a terminal.

    `form` names what was pressed, with the amount: pressing it twice makes one sale.
    """

    terminal = models.ForeignKey(Terminal, models.PROTECT, related_name="sales", db_index=False)
    checkout = models.OneToOneField(Checkout, models.PROTECT, related_name="terminal_sale")
    form = models.CharField(max_length=FORM_LENGTH)
    # The part of the checkout's price that is a tip, in the price's currency.
    tip = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2, default=0)
    # A customer typed it on the page of the counter sign.
    is_by_customer = models.BooleanField(default=False)
    # When its checkout was made.
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["terminal", "form"], name="terminal_sale_once_per_form"),
            models.CheckConstraint(condition=Q(tip__gte=0), name="terminal_sale_tip_not_negative"),
        ]
        indexes = [models.Index(fields=["terminal", "-created_at", "-id"], name="terminal_sales_by_time")]

    def __str__(self) -> str:
        return f"{self.terminal_id}: {self.checkout_id}"

    @property
    def is_of_link(self) -> bool:
        """Whether a customer made it on the page of a payment link that the terminal follows. Its device only looks at it."""
        return self.form.startswith(LINK_FORM)
