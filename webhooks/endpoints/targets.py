"""Where a push or chat endpoint is sent: secrets, sealed as signing secrets are. Whoever has such a URL can write to its owner.

They look like a signing secret, because the release before signs with whatever is stored there: it sends what nobody can read to
an address that takes nothing, and fails.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from accounts.models import Merchant
from gateway.core import json
from gateway.core.secrets import SecretUnreadableError, unseal
from webhooks.endpoints.secrets import give_secret
from webhooks.endpoints.service import UNSERVED, UNTRIED
from webhooks.models import Delivery, Endpoint, Event, EventCounter, SigningSecret
from webhooks.outbox.events import lock_stream
from webhooks.signatures import SECRET_PREFIX
from webhooks.states import NOTES, DeliveryStatus, Format

NOTES_KEPT: Final = timedelta(days=30)
"""How long what people were told is kept, as mails are."""
UNREADABLE: Final = (SigningSecret.DoesNotExist, SecretUnreadableError, ImproperlyConfigured)
"""What `stored_target` raises where the target has ended, or where no configured key opens it."""
_ENDED: Final = (DeliveryStatus.PENDING, DeliveryStatus.HELD)
_BATCH: Final = 1_000


@dataclass(frozen=True, slots=True)
class Target:
    """The real URL; of a browser also its keys, and the public key of ours that it was made for, all in base64url.

    `fields` is what a chat's service wants beside the text.
    """

    url: str
    p256dh: str = ""
    auth: str = ""
    vapid: str = ""
    fields: tuple[tuple[str, str], ...] = ()

    def as_secret(self) -> str:
        """Return the target as the text to seal."""
        return SECRET_PREFIX + b64encode(json.dumps(asdict(self))).decode()

    @classmethod
    def of_secret(cls, secret: str) -> "Target":
        """Return the target of a text that `as_secret` made. Raises ValueError."""
        found = json.loads(b64decode(secret.removeprefix(SECRET_PREFIX)))
        if not isinstance(found, dict) or "url" not in found:
            raise ValueError("not a target")
        return cls(**found | {"fields": tuple((name, value) for name, value in found["fields"])})


def target_of(secrets: Sequence[str]) -> Target:
    """Return the target among an endpoint's secrets, of which it is the only one. Raises ValueError."""
    [secret] = secrets
    return Target.of_secret(secret)


def stored_target(endpoint_id: int) -> Target:
    """Return an endpoint's target. Raises what `UNREADABLE` lists."""
    return Target.of_secret(unseal(bytes(SigningSecret.objects.get(endpoint=endpoint_id, expires_at=None).sealed)))


@transaction.atomic
def add_target(merchant: Merchant, target: Target, *, form: Format, name: str, now: datetime) -> Endpoint:
    """Add an endpoint of the notes' stream for a target. `name` is unique, public, and stands in the URL that people may see."""
    parts = urlsplit(target.url)
    shown = f"{parts.scheme}://{parts.netloc}/#{name}"
    endpoint = Endpoint.objects.create(merchant=merchant, mode=NOTES, url=shown, format=form, created_at=now)
    give_secret(endpoint, now=now, secret=target.as_secret())
    return endpoint


@transaction.atomic
def replace_target(endpoint: Endpoint, target: Target, *, now: datetime) -> None:
    """Give an endpoint another target, and forget that the one before failed. What was held meanwhile is old news."""
    Endpoint.objects.filter(pk=endpoint.pk).update(**UNTRIED)
    give_secret(endpoint, now=now, secret=target.as_secret())
    Delivery.objects.filter(endpoint=endpoint, status=DeliveryStatus.HELD).update(
        status=DeliveryStatus.CANCELLED, is_due=False, finished_at=now
    )


@transaction.atomic
def end_target(endpoint: Endpoint, *, now: datetime) -> None:
    """End an endpoint of the notes' stream: its secret is forgotten, what waits is cancelled. Its row and deliveries stay."""
    held = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
    if held.disabled_at is None:
        ended = {"disabled_at": now, "disabled_reason": "Removed.", "next_probe_at": None, **UNSERVED}
        Endpoint.objects.filter(pk=held.pk).update(**ended)
    SigningSecret.objects.filter(endpoint=held).delete()
    # A publisher that still saw it enabled must commit first, or its delivery would wait there.
    lock_stream(held.merchant_id, NOTES)
    Delivery.objects.filter(endpoint=held, status__in=_ENDED).update(
        status=DeliveryStatus.CANCELLED, is_due=False, finished_at=now
    )


def prune_notes(*, now: datetime) -> int:
    """Delete notes that are older than NOTES_KEPT, with their deliveries and attempts; return how many."""
    pruned = 0
    for merchant_id in EventCounter.objects.filter(mode=NOTES).order_by("pk").values_list("merchant", flat=True):
        old = Event.objects.filter(merchant=merchant_id, mode=NOTES, created_at__lt=now - NOTES_KEPT)
        while keys := list(old.order_by("sequence").values_list("pk", flat=True)[:_BATCH]):
            Event.objects.filter(pk__in=keys).delete()
            pruned += len(keys)
    return pruned
