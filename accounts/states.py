"""Choices of the accounts app's fields."""

from decimal import Decimal

from django.db.models import TextChoices


class Mode(TextChoices):
    """Whether money is real. Every object belongs to one mode and is invisible in the other."""

    LIVE = "live"
    TEST = "test"


class Role(TextChoices):
    """A team member's role; the contract's table lists its permissions."""

    OWNER = "owner"
    ADMIN = "admin"
    VIEWER = "viewer"


class FeeTier(TextChoices):
    """The merchant's plan."""

    STARTER = "starter"
    GROWTH = "growth"
    SCALE = "scale"
    CUSTOM = "custom"


# Rate of each plan, as a fraction of the amount received; custom carries its own.
TIER_RATES = {FeeTier.STARTER: Decimal("0.015"), FeeTier.GROWTH: Decimal("0.010"), FeeTier.SCALE: Decimal("0.007")}


class FeeKind(TextChoices):
    """What a fee is charged for."""

    CHECKOUT = "checkout"
    X402 = "x402"
