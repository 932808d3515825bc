"""Checkouts, their counts, and the exact amounts that identify them."""

from decimal import Decimal
from typing import Final

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from accounts.models import Merchant, User
from accounts.states import Mode
from checkouts.states import FINAL, LIVE, LIVE_IN_ORDER, CheckoutException, CheckoutStatus, CustomerKind, TestScenario
from gateway.core.currencies import RATE_DECIMALS, readable_price
from gateway.core.ids import new_code
from gateway.core.money import TOKEN_DECIMALS, USD_DIGITS, readable

# The maximum length of the team's note about a checkout.
MOST_LETTERS = 1_000
REFERENCE_LENGTH = 128
# Wider than a uint256, so that the sum of many largest transfers fits and cannot block the queue.
SUM_DIGITS = 96
# The references that `creation_ref` does not cover: of successors, and of checkouts from links or renewals.
UNKEYED_REFERENCE = Q(order_ref__gt="") & ~Q(creation_ref=F("order_ref"))

_CANCELLED: Final = pgettext_lazy("team", "Cancelled")
_SHOWN: Final = {
    CheckoutStatus.PENDING: pgettext_lazy("team", "Pending"),
    CheckoutStatus.PROCESSING: pgettext_lazy("team", "Processing"),
    CheckoutStatus.UNDERPAID: pgettext_lazy("team", "Underpaid"),
    CheckoutStatus.COMPLETED: pgettext_lazy("team", "Completed"),
    CheckoutStatus.EXPIRED: pgettext_lazy("team", "Expired"),
}


class CheckoutQuerySet(models.QuerySet["Checkout"]):
    """Named sets of checkouts."""

    def live(self) -> "CheckoutQuerySet":
        """Checkouts whose status can still change."""
        return self.filter(status__in=LIVE)

    def locked(self) -> "CheckoutQuerySet":
        """Rows locked in the usual order, ready to be moved."""
        return self.select_for_update(of=("self",)).order_by("pk")


class Checkout(models.Model):
    """A request for one payment. Its status follows from its transfers and the clock alone."""

    public_id = models.CharField(max_length=40, unique=True)
    # The page's code; never the id, so neither reveals the other.
    code = models.CharField(max_length=32, unique=True, default=new_code)
    # Needs no index: the lists' indexes below begin with it.
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="checkouts", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    status = models.CharField(max_length=10, choices=CheckoutStatus, default=CheckoutStatus.PENDING)
    exception = models.CharField(max_length=9, choices=CheckoutException, default=CheckoutException.NONE, blank=True)
    # What it asks for in USD, which all of the money is counted in.
    amount = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2)
    # What the merchant said: `price` in `currency`. Null where that is USD: then it is `amount`.
    price = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2, null=True)
    currency = models.CharField(max_length=3, default="USD")
    description = models.CharField(max_length=256, blank=True)
    # JSON text as the merchant sent it: jsonb would sort its keys and rewrite its numbers.
    metadata = models.TextField(default="{}")
    customer_email = models.CharField(max_length=254, blank=True)
    redirect_url = models.CharField(max_length=2048, blank=True)
    webhook_url = models.CharField(max_length=2048, blank=True)
    # Where a late buyer begins again, if not on the checkout's page: the page of the link that created it.
    again_url = models.CharField(max_length=2048, blank=True, db_default="")
    # Our sweeps skip its money until it is released; a `Hold` of settlements records that.
    escrow = models.BooleanField(default=False, db_default=False)
    customer_ref = models.CharField(max_length=REFERENCE_LENGTH, blank=True)
    product_ref = models.CharField(max_length=REFERENCE_LENGTH, blank=True)
    order_ref = models.CharField(max_length=REFERENCE_LENGTH, blank=True)
    # The key of idempotent creation: the order_ref, or `again:` and the expired checkout that it renews. Null for
    # successors and for checkouts made from links.
    creation_ref = models.CharField(max_length=REFERENCE_LENGTH, null=True)  # noqa: DJ001
    # What was offered: {chain: {"tokens": [...], "address": "0x..."}}, on exact-amount chains {"tokens": [...], "address":
    # null, "wallet": "..."}. Never changed: attribution and expiry rely on it.
    offers = models.JSONField()
    # What the whole price is in each offered token that is not one USD, and the rate that this follows from: {token: {"units":
    # 23000000, "currency": "EUR", "rate", "sources", "taken_at"}}. Null where all are. A trigger keeps it, and `amount` beside it.
    dues = models.JSONField(null=True)
    # 32 random bytes, from which this checkout's deposit addresses are derived.
    deposit_nonce = models.BinaryField(max_length=32, unique=True)
    amount_received = models.DecimalField(max_digits=SUM_DIGITS, decimal_places=TOKEN_DECIMALS, default=0)
    # The confirmed sum of the last checkout.underpaid event; a later short top-up is reported again.
    underpaid_reported = models.DecimalField(max_digits=SUM_DIGITS, decimal_places=TOKEN_DECIMALS, default=0)
    # What a person accepted as full payment although it is less than the price; it counts as paid from there on.
    accepted_amount = models.DecimalField(max_digits=SUM_DIGITS, decimal_places=TOKEN_DECIMALS, null=True)
    # How many events were written; numbers the next one, so that none is written twice.
    event_count = models.PositiveIntegerField(default=0)
    replaces = models.OneToOneField("self", models.PROTECT, null=True, related_name="replaced_by")
    test_scenario = models.CharField(max_length=10, choices=TestScenario, blank=True)
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)
    paid_at = models.DateTimeField(null=True)
    # Cancelled by the merchant before payment; `expires_at` is the time of cancellation.
    cancelled_at = models.DateTimeField(null=True)

    objects = CheckoutQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=CheckoutStatus.values), name="checkout_status_known"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="checkout_amount_positive"),
            models.CheckConstraint(
                condition=Q(status=CheckoutStatus.COMPLETED, paid_at__isnull=False)
                | ~Q(status=CheckoutStatus.COMPLETED) & Q(paid_at=None),
                name="checkout_completed_has_paid_at",
            ),
            models.CheckConstraint(
                condition=Q(cancelled_at=None) | Q(status=CheckoutStatus.EXPIRED), name="checkout_cancelled_is_expired"
            ),
            models.CheckConstraint(
                condition=Q(accepted_amount=None) | Q(accepted_amount__gt=0, status=CheckoutStatus.COMPLETED),
                name="checkout_accepted_is_completed",
            ),
            models.UniqueConstraint(
                fields=["merchant", "mode", "creation_ref", "amount", "currency"],
                condition=Q(creation_ref__isnull=False),
                name="checkout_once_per_order_ref",
            ),
            # By what the merchant said: the same order repeats although the rate moved.
            models.UniqueConstraint(
                fields=["merchant", "mode", "creation_ref", "price", "currency"],
                condition=Q(creation_ref__isnull=False, price__isnull=False),
                name="checkout_once_per_priced_order_ref",
            ),
            models.CheckConstraint(
                condition=Q(currency="USD", price=None) | ~Q(currency="USD") & Q(price__isnull=False, price__gt=0),
                name="checkout_price_is_not_usd",
            ),
        ]
        indexes = [
            # The API's list, newest first, whole and by status.
            models.Index(fields=["merchant", "mode", "-id"], name="checkout_list"),
            models.Index(fields=["merchant", "mode", "status", "-id"], name="checkout_by_status"),
            # The expiry sweep.
            models.Index(
                fields=["expires_at"],
                condition=Q(status__in=[CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID]),
                name="checkout_expirable",
            ),
            # Candidates for a round or mistyped price; excludes the many that wait for a chain to be read.
            models.Index(
                fields=["merchant", "mode", "amount", "expires_at"],
                condition=Q(status__in=[str(status) for status in LIVE_IN_ORDER]),
                name="checkout_live_by_amount",
            ),
            # Partly paid checkouts, by the amount still due.
            models.Index(
                fields=["merchant", "mode"],
                condition=Q(status__in=[CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID], amount_received__gt=0),
                name="checkout_partly_paid",
            ),
            # Those that expired recently may still be meant.
            models.Index(
                fields=["merchant", "mode", "expires_at"],
                condition=Q(status=CheckoutStatus.EXPIRED),
                name="checkout_expired_lately",
            ),
            # For searches by reference. Checkouts made by the API are found by creation_ref, at no further cost.
            models.Index(
                fields=["merchant", "mode", "order_ref"], condition=UNKEYED_REFERENCE, name="checkout_by_order_ref"
            ),
            # The API's list of a customer, or of a product. Checkouts without these references are not in them.
            models.Index(
                fields=["merchant", "mode", "customer_ref", "-id"],
                condition=Q(customer_ref__gt=""),
                name="checkout_by_customer_ref",
            ),
            models.Index(
                fields=["merchant", "mode", "product_ref", "-id"],
                condition=Q(product_ref__gt=""),
                name="checkout_by_product_ref",
            ),
            # Search by amount. That by words has `checkout_words`, which migration 0007 makes: Django cannot express it.
            models.Index(fields=["merchant", "mode", "amount", "-id"], name="checkout_by_amount"),
            # The same by the price in its own currency. A checkout in USD is not in it.
            models.Index(
                fields=["merchant", "mode", "price", "-id"], condition=Q(price__isnull=False), name="checkout_by_price"
            ),
            # The list by what became of a checkout. None is in these when it is created.
            models.Index(
                fields=["merchant", "mode", "-paid_at", "-id"],
                condition=Q(paid_at__isnull=False),
                name="checkout_by_paid_at",
            ),
            models.Index(
                fields=["merchant", "mode", "exception", "-id"],
                condition=Q(exception__gt=""),
                name="checkout_by_exception",
            ),
            models.Index(
                fields=["merchant", "mode", "-id"], condition=Q(cancelled_at__isnull=False), name="checkout_cancelled"
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def is_final(self) -> bool:
        """Whether the status can never change again."""
        return self.status in FINAL

    @property
    def shown_status(self) -> str:
        """Return the status in a word: one that was cancelled is not called expired, as it is in the API."""
        return str(_CANCELLED if self.cancelled_at is not None else _SHOWN[CheckoutStatus(self.status)])

    @property
    def is_from_link(self) -> bool:
        """Return whether a payment link created it. Anyone with a link's address can create any number."""
        return bool(self.again_url)

    @property
    def hold_subject(self) -> str:
        """Return the public id under which the escrow's hold is stored; for a successor, its predecessor's."""
        return (self.replaces or self).public_id

    @property
    def quote(self) -> "Quote | None":
        """Return how its price was converted; None without a query if that is in USD."""
        return None if self.price is None else self.quoted

    @property
    def asked_amount(self) -> Decimal:
        """Return what the merchant asked for in `currency`; `amount` is in USD."""
        return self.amount if self.price is None else self.price

    @property
    def asked(self) -> str:
        """Return what the merchant said for people: `25.00 USD`, or `23.00 EUR (25.03 USD)`."""
        if self.price is None:
            return f"{readable(self.amount)} {self.currency}"
        return f"{readable_price(self.price, self.currency)} {self.currency} ({readable(self.amount)} USD)"

    @property
    def asked_in_usd(self) -> str:
        """Return what sums of money are compared with, for people: `25.00 USD`, or `25.03 USD (23.00 EUR)`."""
        usd = f"{readable(self.amount)} USD"
        return usd if self.price is None else f"{usd} ({readable_price(self.price, self.currency)} {self.currency})"


class Quote(models.Model):
    """How a checkout's price was converted to USD, once, at its creation: the evidence. It never changes, and no other rate is used.

    `evidence` has the sources as the API shows them: `[{"name", "rate", "taken_at"}]`, the one that gave the rate first.
    """

    checkout = models.OneToOneField(Checkout, models.PROTECT, primary_key=True, related_name="quoted")
    currency = models.CharField(max_length=3)
    price = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2)
    usd_amount = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2)
    # USD for one unit of the currency, before the margin.
    rate = models.DecimalField(max_digits=24, decimal_places=RATE_DECIMALS)
    # The merchant's, as a share: 0.0100 is one per cent.
    margin = models.DecimalField(max_digits=5, decimal_places=4)
    evidence = models.JSONField()
    taken_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(price__gt=0, usd_amount__gt=0, rate__gt=0, margin__gte=0, margin__lte=Decimal("0.05")),
                name="quote_is_possible",
            )
        ]

    def __str__(self) -> str:
        return f"{self.price} {self.currency} at {self.rate} for {self.checkout_id}"


class CheckoutCount(models.Model):
    """A delta of the count of checkouts by status; the rows of a status add up to it (`gateway.core.daily_totals`)."""

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    status = models.CharField(max_length=10, choices=CheckoutStatus)
    # Negative when checkouts left the status.
    value = models.BigIntegerField(default=0)
    is_sum = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "mode", "status"], condition=Q(is_sum=True), name="checkout_count_once"
            )
        ]
        indexes = [
            models.Index(fields=["merchant", "mode", "status"], name="checkout_count_read"),
            # Folding.
            models.Index(fields=["id"], condition=Q(is_sum=False), name="checkout_count_delta"),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.mode}/{self.status}"


class DailyTotal(models.Model):
    """A delta of a merchant's daily total (UTC); the rows of a day add up to it.

    Created and expired ones have no chain: `chain` and `token` are empty. `volume` is the price, in USD, of completed ones;
    of one that was accepted for less, what came, to a cent. A checkout expires on the day of its `expires_at`.
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    day = models.DateField()
    chain = models.CharField(max_length=16, blank=True)
    token = models.CharField(max_length=12, blank=True)
    created = models.BigIntegerField(default=0)
    completed = models.BigIntegerField(default=0)
    expired = models.BigIntegerField(default=0)
    volume = models.DecimalField(max_digits=38, decimal_places=2, default=0)
    # The least and greatest key of the created checkouts: they turn a range of days into a range of keys.
    first_id = models.BigIntegerField(null=True)
    last_id = models.BigIntegerField(null=True)
    is_sum = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "mode", "day", "chain", "token"], condition=Q(is_sum=True), name="daily_total_once"
            )
        ]
        indexes = [
            models.Index(fields=["merchant", "mode", "day"], name="daily_total_read"),
            # Folding.
            models.Index(fields=["id"], condition=Q(is_sum=False), name="daily_total_delta"),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.mode}/{self.day}/{self.chain}"


class AmountReservation(models.Model):
    """An exact amount that identifies a checkout on the chains where addresses cannot: `price` USD plus `suffix` units.

    Held from the moment an exact-amount option is chosen until some days after the checkout ended. A top-up of an
    underpaid checkout has a reservation of its own, at the price that was missing.
    """

    checkout = models.ForeignKey(Checkout, models.PROTECT, related_name="reservations")
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    # The amount due, rounded up to a cent.
    price = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2)
    # Base units below one cent: 1 .. 9999. Multiples of 100 survive a wallet that shows four decimals.
    suffix = models.PositiveSmallIntegerField()
    # 32 random bytes, the Solana Pay reference; and its short form for people, the TON comment.
    reference = models.BinaryField(max_length=32, unique=True)
    memo = models.CharField(max_length=16, unique=True)
    reserved_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "mode", "price", "suffix"],
                condition=Q(released_at=None),
                name="exact_amount_of_one_checkout",
            ),
            models.UniqueConstraint(
                fields=["checkout", "price"], condition=Q(released_at=None), name="one_reservation_per_price"
            ),
            models.CheckConstraint(condition=Q(suffix__gte=1, suffix__lte=9_999), name="suffix_below_one_cent"),
        ]
        indexes = [
            # An exchange's round fee leaves the digits below a cent.
            models.Index(
                fields=["merchant", "mode", "suffix"], condition=Q(released_at=None), name="reservation_by_suffix"
            ),
            # The former holder of an exact amount, for a payment days later.
            models.Index(
                fields=["merchant", "mode", "price", "suffix"],
                condition=Q(released_at__isnull=False),
                name="reservation_released",
            ),
            # The release job, oldest first.
            models.Index(fields=["reserved_at"], condition=Q(released_at=None), name="reservation_held"),
        ]

    def __str__(self) -> str:
        return f"{self.price} + {self.suffix}: {self.checkout_id}"


class TestStep(models.Model):
    """A step of a test checkout's scenario: a row with a due time, so that a restart loses nothing."""

    __test__ = False  # a model, whatever pytest thinks of its name

    checkout = models.ForeignKey(Checkout, models.CASCADE, related_name="test_steps")
    kind = models.CharField(max_length=12)
    due_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["due_at"], condition=Q(done_at=None), name="test_step_due")]

    def __str__(self) -> str:
        return f"{self.checkout_id}: {self.kind} at {self.due_at}"


class TeamNote(models.Model):
    """The team's note about a checkout. Never shown to buyers, nor in webhooks or the API. A separate table, because few checkouts have one."""

    checkout = models.OneToOneField(Checkout, models.CASCADE, related_name="team_note", primary_key=True)
    text = models.CharField(max_length=MOST_LETTERS)
    # The last author.
    author = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    written_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"note of {self.checkout_id}"


class CustomerNote(models.Model):
    """The team's note about a customer: about a reference, an e-mail address or a paying address (`checkouts.customers`).

    Never shown to buyers, nor in webhooks or the API.
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    kind = models.CharField(max_length=7, choices=CustomerKind)
    # In the form in which customers of the kind are compared: an e-mail address in small letters.
    value = models.CharField(max_length=254)
    text = models.CharField(max_length=MOST_LETTERS)
    # The last author.
    author = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    written_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["merchant", "mode", "kind", "value"], name="customer_note_once"),
            models.CheckConstraint(condition=Q(kind__in=CustomerKind.values), name="customer_note_kind_known"),
        ]
        indexes = [models.Index(fields=["merchant", "mode", "-written_at", "-id"], name="customer_note_list")]

    def __str__(self) -> str:
        return f"note of a customer by {self.kind}"
