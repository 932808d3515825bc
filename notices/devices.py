"""Browsers that show a person's notices: added by the browser itself, removed by the person, or ended by the push service."""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_noop

from accounts.models import Membership, Merchant, User
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.ids import new_id
from gateway.core.outbound import check_destination, url_policy
from notices.models import NAME_LENGTH, Device
from webhooks.endpoints.targets import Target, add_target, end_target, replace_target
from webhooks.health import GONE
from webhooks.push import BrowserKeys, server_key
from webhooks.states import Format

MOST_DEVICES: Final = 5
"""How many browsers of a person show a merchant's notices."""
LOST_SHOWN: Final = timedelta(days=30)
"""How long a device stays in its person's list after its push service forgot it."""

# What a User-Agent header names, the first that fits: those below it pretend to be those above.
_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


@transaction.atomic
def add_device(
    user: User, merchant: Merchant, *, url: str, p256dh: str, auth: str, made_for: str, user_agent: str, now: datetime
) -> Device:
    """Add a browser by its subscription; one that subscribes again replaces its keys.

    `made_for` is the key of ours that it subscribed with. Raises InvalidRequestError for an address that is no known push
    service's and for keys that are none, and ConflictError (capacity_exhausted) where MOST_DEVICES are.
    """
    target = _target(url, p256dh, auth, made_for)
    # Concurrent calls wait here, so that the limit is not passed.
    Membership.objects.select_for_update(no_key=True).get(user=user, merchant=merchant)
    mine = Device.objects.filter(user=user, merchant=merchant)
    digest = sha256(url.encode()).digest()
    known = mine.filter(digest=digest).select_related("endpoint").first()
    if known is not None:
        replace_target(known.endpoint, target, now=now)
        return known
    if mine.filter(endpoint__disabled_at=None).count() >= MOST_DEVICES:
        raise ConflictError(
            gettext_noop("{most} devices show notices; remove one first."),
            code="capacity_exhausted",
            values={"most": MOST_DEVICES},
        )
    public_id = new_id("ntd")
    endpoint = add_target(merchant, target, form=Format.PUSH, name=public_id, now=now)
    return Device.objects.create(
        public_id=public_id,
        user=user,
        merchant=merchant,
        digest=digest,
        name=device_name(user_agent),
        endpoint=endpoint,
        created_at=now,
    )


def _target(url: str, p256dh: str, auth: str, made_for: str) -> Target:
    policy = url_policy()
    check_destination(url, param="endpoint", policy=policy)
    host = (urlsplit(url).hostname or "").lower()
    is_known = any(host == name or host.endswith(f".{name}") for name in settings.PUSH_SERVICES)
    if not is_known and not policy.loopback_allowed:
        raise InvalidRequestError(
            gettext_noop("endpoint is no push service that we know."), param="endpoint", code="url_forbidden"
        )
    if not made_for or made_for != server_key():
        raise InvalidRequestError(gettext_noop("The subscription was made for another key."), param="made_for")
    try:
        BrowserKeys.read(p256dh, auth)
    except ValueError as error:
        raise InvalidRequestError(gettext_noop("The browser's keys cannot be used."), param="p256dh") from error
    return Target(url, p256dh, auth, made_for)


def known_devices(user: User, digest: bytes) -> QuerySet[Device]:
    """Return a person's devices, one at each merchant, of the browser with this SHA-256 of its address."""
    return Device.objects.filter(user=user, digest=digest).select_related("endpoint").order_by("pk")


@transaction.atomic
def renew_devices(user: User, was: bytes, *, url: str, p256dh: str, auth: str, made_for: str, now: datetime) -> int:
    """Give a browser's new subscription to each of its devices; return how many there are. `was` is the SHA-256 of the address before.

    A browser subscribes anew when its push service forgot it, or when we have another key. Raises InvalidRequestError as `add_device`.
    """
    target = _target(url, p256dh, auth, made_for)
    digest = sha256(url.encode()).digest()
    # Two pages of the browser may renew at once; the second finds that nothing is left to do.
    list(Membership.objects.select_for_update(no_key=True).filter(user=user).order_by("pk"))
    devices = list(known_devices(user, was))
    # A merchant's page may have added the new subscription already.
    added = set(known_devices(user, digest).values_list("merchant", flat=True)) if digest != was else set()
    for device in devices:
        if device.merchant_id in added:
            remove_device(device, now=now)
            continue
        replace_target(device.endpoint, target, now=now)
        Device.objects.filter(pk=device.pk).update(digest=digest)
    return len(devices)


@transaction.atomic
def remove_device(device: Device, *, now: datetime) -> None:
    """Remove a browser: it gets nothing more, and its address is forgotten."""
    endpoint = device.endpoint
    device.delete()
    end_target(endpoint, now=now)


def end_lost(*, now: datetime) -> int:
    """End devices of people who left the team, and those that their push service forgot LOST_SHOWN ago; return how many.

    Until then the person sees that the device shows no more notices, and the browser subscribes anew at its next visit.
    """
    seats = Membership.objects.filter(user=OuterRef("user"), merchant=OuterRef("merchant"))
    forgotten = Q(endpoint__disabled_reason=GONE, endpoint__disabled_at__lte=now - LOST_SHOWN)
    lost = Device.objects.filter(~Exists(seats) | forgotten).select_related("endpoint")
    devices = list(lost.order_by("pk"))
    for device in devices:
        remove_device(device, now=now)
    return len(devices)


def device_name(user_agent: str) -> str:
    """Return a browser's name and system in words."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "A browser")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return (f"{browser} on {system}" if system else browser)[:NAME_LENGTH]
