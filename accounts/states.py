"""Choices of the accounts app's fields."""

from decimal import Decimal
from typing import Final

from django.db.models import TextChoices
from django.utils.translation import pgettext_lazy

from gateway.core.texts import Lazy


class Mode(TextChoices):
    """Whether money is real. Every object belongs to one mode and is invisible in the other."""

    LIVE = "live", pgettext_lazy("team", "Live")
    TEST = "test", pgettext_lazy("team", "Test")

    @property
    def word(self) -> Lazy:
        """Return the mode as a word within a sentence, such as "live" keys."""
        return _MODE_WORDS[self]


_MODE_WORDS: Final = {Mode.LIVE: pgettext_lazy("team", "live"), Mode.TEST: pgettext_lazy("team", "test")}


class Role(TextChoices):
    """A team member's role; the contract's table lists its permissions."""

    OWNER = "owner", pgettext_lazy("team", "Owner")
    ADMIN = "admin", pgettext_lazy("team", "Admin")
    VIEWER = "viewer", pgettext_lazy("team", "Viewer")


class FeeTier(TextChoices):
    """The merchant's plan."""

    STARTER = "starter", pgettext_lazy("team", "Starter")
    GROWTH = "growth", pgettext_lazy("team", "Growth")
    SCALE = "scale", pgettext_lazy("team", "Scale")
    CUSTOM = "custom", pgettext_lazy("team", "Custom")


# Rate of each plan, as a fraction of the amount received; custom carries its own.
TIER_RATES = {FeeTier.STARTER: Decimal("0.015"), FeeTier.GROWTH: Decimal("0.010"), FeeTier.SCALE: Decimal("0.007")}


class FeeKind(TextChoices):
    """What a fee is charged for."""

    CHECKOUT = "checkout"
    X402 = "x402"


class Preset(TextChoices):
    """A choice of scopes for a new API key. What each has is in `accounts.keys.scopes`."""

    SHOP = "shop", pgettext_lazy("team", "Shop")
    SHOP_PLUGIN = "shop_plugin", pgettext_lazy("team", "Shop plugin")
    PAID_API = "paid_api", pgettext_lazy("team", "Paid API")
    ACCOUNTANT = "accountant", pgettext_lazy("team", "Accountant")
    AGENT = "agent", pgettext_lazy("team", "Agent")
    EVERYTHING = "everything", pgettext_lazy("team", "Everything as before")
    CUSTOM = "custom", pgettext_lazy("team", "Chosen one by one")


# What every key could do before keys had scopes. Later scopes are not in it: an upgrade never widens a key.
SCOPES_OF_0_25: Final = (
    "checkouts:read",
    "checkouts:write",
    "escrow:release",
    "links:read",
    "links:write",
    "events:read",
    "reports:read",
    "wallets:read",
    "wallets:write",
    "x402:read",
    "x402:verify",
    "x402:settle",
)
