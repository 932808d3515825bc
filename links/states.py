"""Choices of the links app's fields."""

from enum import StrEnum

from django.db.models import TextChoices
from django.utils.translation import pgettext_lazy


class LinkType(TextChoices):
    """The type of a link; the specification's four words."""

    INVOICE = "invoice"
    DONATION = "donation"
    SUBSCRIPTION = "subscription"
    CUSTOM = "custom"


class LinkStatus(TextChoices):
    """Whether a link takes payments. Any may change to any other."""

    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


class Interval(TextChoices):
    """How long one payment of a subscription lasts."""

    WEEK = "week", pgettext_lazy("team", "Week")
    MONTH = "month", pgettext_lazy("team", "Month")
    YEAR = "year", pgettext_lazy("team", "Year")


class Standing(StrEnum):
    """What is known of a payment through a link."""

    PAID = "paid"
    DOUBTED = "doubted"
    """Its network was halted and may have lost it."""
    REVERSED = "reversed"


class MailKind(TextChoices):
    """The kinds of mails to a subscriber: a period is paid, or will end soon."""

    PAID = "paid"
    DUE = "due"
