"""Signing secrets of merchants and of listed endpoints: encrypted at rest, one current, and during a rotation a second that still signs."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Merchant
from gateway.core.secrets import Resealed, SecretUnreadableError, seal, unseal
from webhooks.models import Endpoint, SigningSecret
from webhooks.signatures import new_secret

DEFAULT_OVERLAP = timedelta(hours=24)
# The audit log's name of a rotation.
ROLLED = "webhook_secret.rolled"


def sealed_secrets(endpoints: Mapping[int, int], *, now: datetime) -> dict[int, list[bytes]]:
    """Return the valid secrets of endpoints, given with their merchants, still encrypted, current ones first.

    An endpoint's own, or its merchant's where it has none. An endpoint without either is left out.
    """
    valid = Q(expires_at=None) | Q(expires_at__gt=now)
    owners = Q(merchant_id__in=set(endpoints.values())) | Q(endpoint_id__in=list(endpoints))
    rows = (
        SigningSecret.objects.filter(valid, owners)
        .order_by(F("expires_at").desc(nulls_first=True), "-pk")
        .values_list("merchant_id", "endpoint_id", "sealed")
    )
    found: dict[tuple[int | None, int | None], list[bytes]] = defaultdict(list)
    for merchant_id, endpoint_id, sealed in rows:
        found[merchant_id, endpoint_id].append(bytes(sealed))
    secrets = {key: found.get((None, key)) or found.get((merchant, None)) for key, merchant in endpoints.items()}
    return {key: sealed for key, sealed in secrets.items() if sealed}


def ensure_secret(merchant: Merchant, *, now: datetime) -> str:
    """Return the merchant's current secret, created if there is none. Raises SecretUnreadableError."""
    current = SigningSecret.objects.filter(merchant=merchant, expires_at=None)
    if not current.exists():
        # A concurrent insert may come first; then its secret is used.
        SigningSecret.objects.bulk_create([_sealed(merchant, now)], ignore_conflicts=True)
    return unseal(bytes(current.get().sealed))


@transaction.atomic
def show_secret(merchant: Merchant, *, now: datetime, actor: Actor) -> str:
    """Return the current secret to a person, and audit that. Raises SecretUnreadableError."""
    secret = ensure_secret(merchant, now=now)
    record(merchant, action="webhook_secret.shown", actor=actor, object_id=merchant.public_id, now=now)
    return secret


@transaction.atomic
def roll_secret(
    merchant: Merchant, *, now: datetime, overlap: timedelta = DEFAULT_OVERLAP, actor: Actor = SYSTEM
) -> str:
    """Rotate: create a new current secret and return it; the old one keeps signing for `overlap`."""
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    SigningSecret.objects.filter(merchant=merchant, expires_at=None).update(expires_at=now + overlap)
    row = _sealed(merchant, now)
    row.save()
    record(
        merchant,
        action=ROLLED,
        actor=actor,
        object_id=merchant.public_id,
        after={"overlap_seconds": int(overlap.total_seconds())},
        now=now,
    )
    return unseal(bytes(row.sealed))


def give_secret(endpoint: Endpoint, *, now: datetime, secret: str = "") -> str:
    """Give an endpoint a secret of its own, `secret` or a new one, and return it. The one before is forgotten."""
    SigningSecret.objects.filter(endpoint=endpoint).delete()
    return _add_own(endpoint, secret or new_secret(), now)


def own_secret(endpoint: Endpoint) -> str:
    """Return the current secret of an endpoint that has one of its own. Raises SecretUnreadableError."""
    return unseal(bytes(SigningSecret.objects.get(endpoint=endpoint, expires_at=None).sealed))


def has_secret(endpoint: Endpoint, secret: str) -> bool:
    """Return whether a secret is the only one that an endpoint has of its own. One that cannot be read is another one."""
    sealed = list(SigningSecret.objects.filter(endpoint=endpoint).values_list("sealed", flat=True)[:2])
    try:
        return [unseal(bytes(one)) for one in sealed] == [secret]
    except SecretUnreadableError:
        return False


def rotate_own(endpoint: Endpoint, *, now: datetime, overlap: timedelta = DEFAULT_OVERLAP) -> str:
    """Give a locked endpoint another secret of its own and return it; the one before keeps signing for `overlap`."""
    SigningSecret.objects.filter(endpoint=endpoint, expires_at=None).update(expires_at=now + overlap)
    return _add_own(endpoint, new_secret(), now)


def _add_own(endpoint: Endpoint, secret: str, now: datetime) -> str:
    SigningSecret.objects.create(endpoint=endpoint, sealed=seal(secret), created_at=now)
    return secret


def reseal_secrets(*, dry_run: bool = False) -> Resealed:
    """Encrypt every stored secret under the first of ENCRYPTION_KEYS; return how many there were of each kind."""
    counted = Resealed()
    for secret_id, sealed in SigningSecret.objects.order_by("pk").values_list("pk", "sealed"):
        renewed = counted.renew(bytes(sealed))
        if renewed is not None and not dry_run:
            SigningSecret.objects.filter(pk=secret_id).update(sealed=renewed)
    return counted


def _sealed(merchant: Merchant, now: datetime) -> SigningSecret:
    return SigningSecret(merchant=merchant, sealed=seal(new_secret()), created_at=now)
