"""Who is there: merchants, the people of their teams, the keys of their machines, and what was done by whom."""

from functools import partial

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone

from accounts.states import TIER_RATES, FeeTier, Mode, Role
from gateway.core.ids import new_id


class Merchant(models.Model):
    """A business that takes payments. Everything else belongs to one."""

    public_id = models.CharField(
        max_length=40, unique=True, default=partial(new_id, "mer")
    )
    name = models.CharField(max_length=120)
    fee_tier = models.CharField(max_length=8, choices=FeeTier, default=FeeTier.STARTER)
    fee_rate = models.DecimalField(
        max_digits=6, decimal_places=5, default=TIER_RATES[FeeTier.STARTER]
    )
    # Whether the page of an expired checkout lets its buyer make a fresh one. Off: prices may have changed since.
    buyers_may_retry = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(fee_tier__in=FeeTier.values), name="merchant_fee_tier_known"
            ),
            # A plan's rate is the plan's; only a custom one is negotiated.
            models.CheckConstraint(
                condition=Q(fee_tier=FeeTier.CUSTOM, fee_rate__gte=0, fee_rate__lt=1)
                | Q(fee_tier=FeeTier.STARTER, fee_rate=TIER_RATES[FeeTier.STARTER])
                | Q(fee_tier=FeeTier.GROWTH, fee_rate=TIER_RATES[FeeTier.GROWTH])
                | Q(fee_tier=FeeTier.SCALE, fee_rate=TIER_RATES[FeeTier.SCALE]),
                name="merchant_fee_rate_matches_tier",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class UserManager(BaseUserManager["User"]):
    """Creates people by e-mail address."""

    def create_user(
        self, email: str, password: str | None = None, *, name: str = ""
    ) -> "User":
        """Create a person who can log in; without a password, only after a reset."""
        user = self.model(email=self.normalize_email(email), name=name)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        """Find a person whatever capitals the address is typed in."""
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """A person. The e-mail address is the login."""

    public_id = models.CharField(
        max_length=40, unique=True, default=partial(new_id, "usr")
    )
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "email"
    objects = UserManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), name="user_email_unique")
        ]

    def __str__(self) -> str:
        return self.email


class Membership(models.Model):
    """A person's role in one merchant's team."""

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=6, choices=Role)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "user"], name="membership_once"
            ),
            models.CheckConstraint(
                condition=Q(role__in=Role.values), name="membership_role_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class ApiKey(models.Model):
    """A machine's key. Only its SHA-256 digest is kept; the key itself is shown once and never again."""

    public_id = models.CharField(
        max_length=40, unique=True, default=partial(new_id, "key")
    )
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="api_keys")
    mode = models.CharField(max_length=4, choices=Mode)
    name = models.CharField(max_length=80, blank=True)
    digest = models.BinaryField(max_length=32, unique=True)
    last_four = models.CharField(max_length=4)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(mode__in=Mode.values), name="api_key_mode_known"
            ),
            models.CheckConstraint(
                condition=Q(revoked_at=None) | Q(revoked_at__gte=F("created_at")),
                name="api_key_revoked_after_created",
            ),
        ]

    def __str__(self) -> str:
        return f"sk_{self.mode}_…{self.last_four}"


class AuditEntry(models.Model):
    """One act that changed money or access. Written once; a trigger refuses changes."""

    merchant = models.ForeignKey(
        Merchant, models.PROTECT, null=True, related_name="audit_entries"
    )
    actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    # What acted where no person did: an API key, a command, the system.
    actor_label = models.CharField(max_length=120)
    action = models.CharField(max_length=80)
    object_id = models.CharField(max_length=80, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["merchant", "-id"], name="audit_of_merchant")]

    def __str__(self) -> str:
        return f"{self.action} {self.object_id}"
