"""The choices payment links know."""

from django.db.models import TextChoices


class LinkType(TextChoices):
    """What a link is for; the specification's four words."""

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

    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class MailKind(TextChoices):
    """What a subscriber is told: that a period is paid, and that one will end soon."""

    PAID = "paid"
    DUE = "due"
