"""Inbox items, people's decisions about them and about short money, and buyers' reports."""

from django.db import models
from django.db.models import Q

from accounts.models import Merchant, User
from accounts.states import Mode
from checkouts.models.checkouts import SUM_DIGITS, Checkout
from checkouts.states import InboxAct, InboxReason, InboxStatus, RescueVerdict
from gateway.core.money import TOKEN_DECIMALS
from wallets.models import Transfer


class InboxItem(models.Model):
    """Money at a merchant's address that no rule could credit; a person decides."""

    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+")
    mode = models.CharField(max_length=4, choices=Mode)
    transfer = models.ForeignKey(Transfer, models.PROTECT, related_name="inbox_items")
    # The checkout it was probably meant for.
    checkout = models.ForeignKey(Checkout, models.PROTECT, null=True, related_name="inbox_items")
    reason = models.CharField(max_length=13, choices=InboxReason)
    explanation = models.CharField(max_length=300)
    # Possible checkouts: [{"checkout": public id, "why_not": "..."}], the likeliest first, at most twenty.
    candidates = models.JSONField(default=list)
    status = models.CharField(max_length=9, choices=InboxStatus, default=InboxStatus.OPEN)
    created_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # A transfer may have a reversal alert besides its first item.
            models.UniqueConstraint(fields=["transfer", "reason"], name="inbox_item_once_per_reason")
        ]
        indexes = [
            models.Index(fields=["merchant", "mode", "-id"], condition=Q(status=InboxStatus.OPEN), name="inbox_open"),
            models.Index(
                fields=["merchant", "mode", "-id"], condition=~Q(status=InboxStatus.OPEN), name="inbox_resolved"
            ),
            # Every page of the dashboard counts these: money that a reorg removed.
            models.Index(
                fields=["merchant", "mode", "-id"],
                condition=Q(status=InboxStatus.OPEN, reason=InboxReason.REVERSED),
                name="inbox_alarms",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reason}: {self.transfer_id}"


class Decision(models.Model):
    """A person's decision. It takes effect at `due_at`, and can be undone until then."""

    actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField()
    due_at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True)
    undone_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    done_at = models.DateTimeField(null=True)
    # Why it could not take effect, as text; everything is as it was before.
    failed_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=200, blank=True)

    class Meta:
        abstract = True


class InboxDecision(Decision):
    """A decision about an inbox item.

    An item has one decision in force: of two people deciding at once, the second gets an error.
    """

    item = models.ForeignKey(InboxItem, models.PROTECT, related_name="decisions", db_index=False)
    act = models.CharField(max_length=11, choices=InboxAct)
    # The checkout to credit; null for every other act.
    checkout = models.ForeignKey(Checkout, models.PROTECT, null=True, related_name="+")
    # The transaction that sent the money back, of decisions of before refunds: `payouts.lifecycle.noted` makes one of it.
    refund_tx = models.CharField(max_length=128, blank=True)
    # The sum in USD that is accepted as full payment although it is less than the price; null if the price must be reached.
    accepted_amount = models.DecimalField(max_digits=SUM_DIGITS, decimal_places=TOKEN_DECIMALS, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item"],
                condition=Q(undone_at=None, failed_at=None),
                name="inbox_item_has_one_standing_decision",
            ),
            models.CheckConstraint(
                condition=Q(act=InboxAct.CREDIT, checkout__isnull=False) | ~Q(act=InboxAct.CREDIT) & Q(checkout=None),
                name="inbox_credit_names_its_checkout",
            ),
            models.CheckConstraint(
                condition=Q(done_at=None) | Q(undone_at=None, failed_at=None), name="inbox_decision_ends_once"
            ),
            models.CheckConstraint(
                condition=Q(undone_by=None) | Q(undone_at__isnull=False), name="inbox_decision_undone_by"
            ),
        ]
        indexes = [
            models.Index(fields=["item", "-id"], name="inbox_decisions_of_item"),
            models.Index(
                fields=["due_at"], condition=Q(done_at=None, undone_at=None, failed_at=None), name="inbox_decision_due"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.act}: {self.item_id}"


class Acceptance(Decision):
    """A decision that what a checkout received, less than its price, is its full payment.

    A checkout has one in force: of two people accepting at once, the second gets an error.
    """

    checkout = models.ForeignKey(Checkout, models.PROTECT, related_name="acceptances", db_index=False)
    # The sum in USD that the person saw. It takes effect with this or more, never with less.
    amount = models.DecimalField(max_digits=SUM_DIGITS, decimal_places=TOKEN_DECIMALS)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["checkout"],
                condition=Q(undone_at=None, failed_at=None),
                name="checkout_has_one_standing_acceptance",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="acceptance_amount_positive"),
            models.CheckConstraint(
                condition=Q(done_at=None) | Q(undone_at=None, failed_at=None), name="acceptance_ends_once"
            ),
        ]
        indexes = [
            models.Index(fields=["checkout", "-id"], name="acceptances_of_checkout"),
            models.Index(
                fields=["due_at"], condition=Q(done_at=None, undone_at=None, failed_at=None), name="acceptance_due"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} for {self.checkout_id}"


class BuyerReport(models.Model):
    """A transaction that a buyer reports as payment, and what we found. Shown beside the inbox; it moves no money."""

    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+")
    mode = models.CharField(max_length=4, choices=Mode)
    checkout = models.ForeignKey(Checkout, models.PROTECT, related_name="buyer_reports", db_index=False)
    # As chains write it, parsed from the buyer's text.
    tx_hash = models.CharField(max_length=128)
    # Empty if no chain knows it.
    chain = models.CharField(max_length=16, blank=True)
    verdict = models.CharField(max_length=20, choices=RescueVerdict)
    # The facts behind the verdict: amounts as strings, addresses, seconds.
    details = models.JSONField(default=dict)
    reported_at = models.DateTimeField()
    # The same hash may be looked up again; the newest result is kept.
    looked_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["checkout", "tx_hash"], name="buyer_report_once")]
        indexes = [
            models.Index(fields=["merchant", "mode", "-id"], condition=Q(closed_at=None), name="buyer_report_open")
        ]

    def __str__(self) -> str:
        return f"{self.verdict}: {self.tx_hash}"
