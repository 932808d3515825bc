"""Merchants, their teams, API keys, branding, fees and the audit log."""

from decimal import Decimal
from functools import partial

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Mod
from django.db.models.lookups import Exact
from django.utils import timezone

from accounts.states import SCOPES_OF_0_25, TIER_RATES, FeeKind, FeeTier, Mode, Preset, Role
from gateway.core.currencies import USD
from gateway.core.ids import new_id
from gateway.core.money import USD_DIGITS

MOST_WALLET_CHANGE_HOURS = 168
MOST_NETWORKS = 20
AGENT_LENGTH = 120
REQUEST_PATH_LENGTH = 200
TIME_ZONE_LENGTH = 64
MOST_RATE_MARGIN = Decimal("0.05")
# Today's partition, those of the seven days before, and an empty one for tomorrow.
REQUEST_SLOTS = 9


class Merchant(models.Model):
    """A business that takes payments. All other objects belong to a merchant."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "mer"))
    name = models.CharField(max_length=120)
    fee_tier = models.CharField(max_length=8, choices=FeeTier, default=FeeTier.STARTER)
    fee_rate = models.DecimalField(max_digits=6, decimal_places=5, default=TIER_RATES[FeeTier.STARTER])
    # Whether it was here while every installation charged fees, before there was the setting `CHARGE_FEES`.
    charged_before = models.BooleanField(default=False, db_default=False)
    # IANA's name of the time zone in which its months begin and end. Times are stored in UTC.
    time_zone = models.CharField(max_length=TIME_ZONE_LENGTH, default="UTC", db_default="UTC")
    # Whether buyers may renew an expired checkout. Off: prices may have changed since.
    buyers_may_retry = models.BooleanField(default=False)
    # Whether buyers who left an address are mailed a receipt. Off: most shops send their own.
    mails_receipts = models.BooleanField(default=False)
    # Whether expired rivals count for round prices (docs/adr/0005). Off: the specification credits the only live one.
    round_price_rivals = models.BooleanField(default=False, db_default=False)
    # Whether money in the inbox that is certain is decided by itself. Off: what happens to money is a person's to say.
    decides_certain = models.BooleanField(default=False, db_default=False)
    # Whether our gas accounts may send buyers' payments, where the operator pays for that.
    is_gas_free = models.BooleanField(default=True, db_default=True)
    # What is added to a rate when a price is converted, as a share: 0.0100 is one per cent.
    rate_margin = models.DecimalField(max_digits=5, decimal_places=4, default=Decimal(0), db_default=Decimal(0))
    # The currency that forms of new checkouts and links begin with: ISO 4217. It need not be one of PRICE_CURRENCIES any more.
    price_currency = models.CharField(max_length=3, default=USD, db_default=USD)
    # How long a new receiving wallet waits before it gets money. Shortening the wait is delayed too, against thieves.
    wallet_change_hours = models.PositiveSmallIntegerField(default=24)
    next_wallet_change_hours = models.PositiveSmallIntegerField(null=True)
    next_wallet_change_hours_at = models.DateTimeField(null=True)
    # How many people approve a payout above `payout_second_above` USD; below it, one does.
    payout_approvals = models.PositiveSmallIntegerField(default=1, db_default=1)
    payout_second_above = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2, default=1000, db_default=1000)
    # Whether admins approve payouts, too. Off: owners alone.
    admins_approve = models.BooleanField(default=False, db_default=False)
    # Looser rules that wait, as receiving wallets do: see `accounts.merchants.payout_rules`.
    next_payout_rules = models.JSONField(null=True)
    next_payout_rules_at = models.DateTimeField(null=True)
    # Set while the account is closed: see `accounts.merchants.service`.
    closed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        # Each charge asks for one of these where the setting is silent.
        indexes = [models.Index(fields=["id"], condition=Q(charged_before=True), name="merchant_charged_before")]
        constraints = [
            models.CheckConstraint(condition=Q(fee_tier__in=FeeTier.values), name="merchant_fee_tier_known"),
            # A plan's rate is fixed; only a custom one is negotiated.
            models.CheckConstraint(
                condition=Q(fee_tier=FeeTier.CUSTOM, fee_rate__gte=0, fee_rate__lt=1)
                | Q(fee_tier=FeeTier.STARTER, fee_rate=TIER_RATES[FeeTier.STARTER])
                | Q(fee_tier=FeeTier.GROWTH, fee_rate=TIER_RATES[FeeTier.GROWTH])
                | Q(fee_tier=FeeTier.SCALE, fee_rate=TIER_RATES[FeeTier.SCALE]),
                name="merchant_fee_rate_matches_tier",
            ),
            models.CheckConstraint(
                condition=Q(payout_approvals__gte=1, payout_approvals__lte=2, payout_second_above__gte=0),
                name="merchant_payout_approvals_in_range",
            ),
            models.CheckConstraint(
                condition=Q(wallet_change_hours__lte=MOST_WALLET_CHANGE_HOURS),
                name="merchant_wallet_change_hours_in_range",
            ),
            models.CheckConstraint(
                condition=Q(next_wallet_change_hours=None, next_wallet_change_hours_at=None)
                | Q(next_wallet_change_hours__lt=F("wallet_change_hours"), next_wallet_change_hours_at__isnull=False),
                name="merchant_next_wallet_change_hours_are_fewer",
            ),
            models.CheckConstraint(
                condition=Q(rate_margin__gte=0, rate_margin__lte=MOST_RATE_MARGIN), name="merchant_rate_margin_in_range"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def shown_name(self) -> str:
        """Return the name that buyers read. Read the merchant with its branding to avoid another query."""
        branding: Branding | None = getattr(self, "branding", None)
        return (branding.display_name if branding else "") or self.name


class Branding(models.Model):
    """A merchant's branding. Without a row, or for an empty field, pages use the default.

    The logo is redrawn from the upload, never the uploaded file.
    """

    merchant = models.OneToOneField(Merchant, models.CASCADE, related_name="branding", primary_key=True)
    # Replaces the merchant's name where that is an unknown legal one.
    display_name = models.CharField(max_length=80, blank=True)
    # PNG, and half of its SHA-256 in hexadecimal: its address changes with it.
    logo = models.BinaryField(default=bytes, max_length=256 * 1024)
    logo_digest = models.CharField(max_length=32, blank=True)
    # `#rrggbb` as chosen; what is drawn keeps its contrast.
    accent = models.CharField(max_length=7, blank=True)
    support_url = models.CharField(max_length=2048, blank=True)
    terms_url = models.CharField(max_length=2048, blank=True)
    # Instead of "Return to <merchant>".
    return_label = models.CharField(max_length=40, blank=True)
    # The seller's legal name, address and tax number, on receipts; lines as typed.
    legal_lines = models.CharField(max_length=400, blank=True, default="", db_default="")
    # The shop's domain, and when a file there last named the merchant: see `accounts.brand.domains`.
    domain = models.CharField(max_length=253, blank=True, default="", db_default="")
    domain_verified_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            # No page shows a domain that nobody proved.
            models.CheckConstraint(
                condition=Q(domain="", domain_verified_at=None) | (~Q(domain="") & Q(domain_verified_at__isnull=False)),
                name="branding_domain_is_proven",
            )
        ]

    def __str__(self) -> str:
        return f"branding of {self.merchant_id}"


class UserManager(BaseUserManager["User"]):
    """Creates people by e-mail address."""

    def create_user(self, email: str, password: str | None = None, *, name: str = "") -> "User":
        """Create a person who can log in; without a password, they must reset it first."""
        user = self.model(email=self.normalize_email(email), name=name)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        """Find a person by address, in any case."""
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """A person. The e-mail address is the login."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "usr"))
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    # The language of their pages and mails, a code of `gateway.core.web.login_languages`; empty: the browser's, and mails in English.
    language = models.CharField(max_length=16, blank=True, default="", db_default="")
    created_at = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "email"
    objects = UserManager()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_unique")]

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
            models.UniqueConstraint(fields=["merchant", "user"], name="membership_once"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class ApiKey(models.Model):
    """An API key. Only its SHA-256 digest is stored; the key itself is shown once."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "key"))
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="api_keys")
    mode = models.CharField(max_length=4, choices=Mode)
    name = models.CharField(max_length=80, blank=True)
    digest = models.BinaryField(max_length=32, unique=True)
    last_four = models.CharField(max_length=4)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey("User", models.SET_NULL, null=True, related_name="+", db_index=False)
    # Names of `gateway.core.api.scopes`. A process of 0.25 writes none while an upgrade runs: its keys do what all did then.
    scopes = ArrayField(models.CharField(max_length=32), db_default=list(SCOPES_OF_0_25))
    # The choice that filled in the scopes, for people: nothing follows from it.
    preset = models.CharField(max_length=16, choices=Preset, db_default=Preset.EVERYTHING)
    expires_at = models.DateTimeField(null=True)
    # Networks in CIDR notation from which it may be used; none: from anywhere.
    allowed_networks = ArrayField(models.CharField(max_length=43), default=list, db_default=[])
    # The key that took its place.
    replaced_by = models.OneToOneField("self", models.SET_NULL, null=True, related_name="replaces")
    # For people, to the minute: when, from where, for what and with which program it was used last, and what it lacked. The
    # program is what the client says of itself.
    last_used_at = models.DateTimeField(null=True)
    last_used_from = models.GenericIPAddressField(null=True)
    last_used_scope = models.CharField(max_length=32, db_default="", default="")
    last_used_agent = models.CharField(max_length=AGENT_LENGTH, db_default="", default="")
    refused_at = models.DateTimeField(null=True)
    refused_scope = models.CharField(max_length=32, db_default="", default="")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(mode__in=Mode.values), name="api_key_mode_known"),
            models.CheckConstraint(condition=Q(scopes__len__gt=0), name="api_key_may_do_something"),
            models.CheckConstraint(
                condition=Q(allowed_networks__len__lte=MOST_NETWORKS), name="api_key_networks_in_range"
            ),
            models.CheckConstraint(
                condition=Q(revoked_at=None) | Q(revoked_at__gte=F("created_at")), name="api_key_revoked_after_created"
            ),
        ]

    def __str__(self) -> str:
        return f"sk_{self.mode}_…{self.last_four}"


class IdempotentRequest(models.Model):
    """A request with an Idempotency-Key: a merchant uses a key once in each mode, for one body."""

    # Needs no index: the constraint's index begins with this column.
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    key = models.CharField(max_length=255)
    # SHA-256 of what was asked for, in canonical form.
    digest = models.BinaryField(max_length=32)
    created_at = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.key


class IdempotencyKey(IdempotentRequest):
    """A key of any POST but x402's verify and settle, with the first answer: its status, and its body, encrypted."""

    status = models.SmallIntegerField()
    body = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["merchant", "mode", "key"], name="idempotency_key_once")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_key_by_time")]


class ApiRequest(models.Model):
    """An answered API request that had a valid key. Divided into partitions by `slot`, which a UTC day determines."""

    # Without foreign keys and unique indexes: a note is written on behalf of each request, and is dropped with its day.
    slot = models.PositiveSmallIntegerField()
    merchant = models.ForeignKey(Merchant, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    mode = models.CharField(max_length=4, choices=Mode)
    # The key's public id.
    key_id = models.CharField(max_length=40)
    # What the answer's X-Request-Id says.
    request_id = models.CharField(max_length=40)
    method = models.CharField(max_length=7)
    path = models.CharField(max_length=REQUEST_PATH_LENGTH)
    status = models.PositiveSmallIntegerField()
    # The code of an error's answer.
    code = models.CharField(max_length=64, blank=True)
    milliseconds = models.PositiveIntegerField()
    asked_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["merchant", "mode", "id"], name="api_requests_listed")]

    def __str__(self) -> str:
        return self.request_id


class AuditEntry(models.Model):
    """An act that changed money or access. Written once; a trigger refuses changes."""

    merchant = models.ForeignKey(Merchant, models.PROTECT, null=True, related_name="audit_entries")
    actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    # The actor without a person: an API key, a command, the system.
    actor_label = models.CharField(max_length=254)
    action = models.CharField(max_length=80)
    object_id = models.CharField(max_length=80, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["merchant", "-id"], name="audit_of_merchant"),
            # The page's filters.
            models.Index(fields=["merchant", "action", "-id"], name="audit_by_action"),
            models.Index(fields=["merchant", "actor", "-id"], name="audit_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.object_id}"


class FeeEntry(models.Model):
    """A payment's fee: rate and amount at its completion. Real money only.

    Entries are written once; a trigger refuses changes, so a past month never changes. If a reorg removes the payment, a
    new entry refunds the fee, and another charges it again when the payment returns.
    """

    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="fee_entries", db_index=False)
    kind = models.CharField(max_length=8, choices=FeeKind)
    # The checkout's or the x402 payment's public id.
    subject_id = models.CharField(max_length=40)
    # 0 charges the payment, odd ones refund it, and the even ones after them charge it again.
    number = models.PositiveIntegerField(default=0, db_default=0)
    # The first entry of the payment; null for the first itself.
    corrects = models.ForeignKey("self", models.PROTECT, null=True, related_name="+", db_index=False)
    # Those of the transfer that completed it.
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    # In USD, and negative for a refund. The received amount may exceed one uint256 of base units.
    received = models.DecimalField(max_digits=96, decimal_places=6)
    rate = models.DecimalField(max_digits=6, decimal_places=5)
    amount = models.DecimalField(max_digits=96, decimal_places=6)
    charged_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "fee entries"
        constraints = [
            models.UniqueConstraint(fields=["kind", "subject_id", "number"], name="fee_booked_once"),
            models.CheckConstraint(
                condition=Q(number=0, corrects=None) | Q(number__gt=0, corrects__isnull=False),
                name="fee_correction_says_of_what",
            ),
            models.CheckConstraint(
                condition=Q(rate__gte=0)
                & (
                    Q(Exact(Mod("number", 2), 0), received__gte=0, amount__gte=0)
                    | Q(Exact(Mod("number", 2), 1), received__lte=0, amount__lte=0)
                ),
                name="fee_signed_by_number",
            ),
        ]
        indexes = [
            # Statements, by month, with refunds and repeated charges.
            models.Index(fields=["merchant", "charged_at"], name="fee_by_month"),
            models.Index(fields=["merchant", "charged_at"], condition=Q(number__gt=0), name="fee_corrections"),
        ]

    def __str__(self) -> str:
        return f"{self.subject_id}: {self.amount}"


class FeeDay(models.Model):
    """A change of a merchant's total fees of a day (UTC), less refunds; the total is the sum of the day's rows.

    A trigger maintains it as described in `gateway.core.daily_totals`. `count` is the number of charges less refunds.
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    chain = models.CharField(max_length=16)
    count = models.BigIntegerField(default=0)
    # In USD.
    amount = models.DecimalField(max_digits=96, decimal_places=6, default=0)
    is_sum = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["merchant", "day", "chain"], condition=Q(is_sum=True), name="fee_day_once")
        ]
        indexes = [
            # Reports.
            models.Index(fields=["merchant", "day"], name="fee_day_report"),
            # Folding.
            models.Index(fields=["id"], condition=Q(is_sum=False), name="fee_day_change"),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.day}/{self.chain}: {self.amount}"


class Invitation(models.Model):
    """An invitation of an e-mail address to a team. The link contains a secret of which only the digest is stored."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "inv"))
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=6, choices=Role)
    digest = models.BinaryField(max_length=32, unique=True)
    invited_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    # When it was accepted or withdrawn; it ends once.
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(role__in=Role.values), name="invitation_role_known"),
            models.UniqueConstraint(
                "merchant", Lower("email"), condition=Q(ended_at=None), name="invitation_open_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} ({self.role})"


class Guesses(models.Model):
    """The number of wrong guesses in a row at a person's secret. The person is stored as a digest, and need not exist."""

    # SHA-256 of the kind of secret and the e-mail address.
    digest = models.BinaryField(max_length=32, primary_key=True)
    failures = models.PositiveSmallIntegerField()
    last_at = models.DateTimeField()
    locked_until = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "guesses"

    def __str__(self) -> str:
        return f"{self.failures} guesses"


class AuditSeal(models.Model):
    """Reveals changed or missing audit entries: each seal contains the one before, in a chain per merchant.

    A trigger writes it when the entry's transaction commits, so that acts of one merchant need not wait for each other;
    another refuses changes. The digest is SHA-256 over the previous seal's and the entry's fields (`accounts.audit.chain`).
    """

    entry = models.OneToOneField(AuditEntry, models.PROTECT, primary_key=True, related_name="seal")
    # Zero for entries without a merchant; not a foreign key, so that sealing locks nothing else.
    chain = models.BigIntegerField()
    number = models.BigIntegerField()
    digest = models.BinaryField(max_length=32)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chain", "number"], name="audit_seal_once")]

    def __str__(self) -> str:
        return f"{self.chain}:{self.number}"
