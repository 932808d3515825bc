"""Creates, changes, rotates and revokes API keys."""

import hashlib
import secrets
import string
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy, gettext_noop

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import ApiKey, Merchant
from accounts.states import Mode, Preset
from accounts.team.service import mail_owners
from gateway.core.api.errors import ConflictError
from gateway.core.texts import Spoken
from gateway.core.web.client_address import proxy_network

# After the prefix of the specification: whose key it is, so that scanners of leaked secrets can tell.
_OURS: Final = "fl_"
_DIGITS: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CHECK_LENGTH: Final = 6
_SECRET_LENGTH: Final = 43
WARN_BEFORE: Final = timedelta(days=7)
"""So long before a key expires its owners get a mail."""


@dataclass(frozen=True, slots=True)
class Powers:
    """What a key may do, from which networks, and until when. Without networks: from anywhere; without a time: for ever."""

    scopes: tuple[str, ...]
    preset: Preset = Preset.CUSTOM
    expires_at: datetime | None = None
    networks: tuple[str, ...] = ()

    def as_audited(self) -> dict[str, Any]:
        """Return the values as the audit log keeps them."""
        expires_at = self.expires_at.isoformat() if self.expires_at else None
        return {"scopes": sorted(self.scopes), "expires_at": expires_at, "networks": list(self.networks)}


def powers_of(key: ApiKey) -> Powers:
    """Return what a stored key may do."""
    return Powers(tuple(key.scopes), Preset(key.preset), key.expires_at, tuple(key.allowed_networks))


def new_key(mode: Mode) -> str:
    """Return a fresh key, `sk_<mode>_fl_`, 43 random characters, `_`, and six of a checksum.

    The caller shows it once and keeps its digest.
    """
    body = f"sk_{mode}_{_OURS}{secrets.token_urlsafe(32)}"
    return f"{body}_{_checksum(body)}"


def is_mistyped(key: str) -> bool:
    """Return whether a key has the form of `new_key` and a checksum that does not fit; older keys have no checksum."""
    body, _, check = key.rpartition("_")
    _, is_ours, secret = body.partition(f"_{_OURS}")
    if not is_ours or len(secret) != _SECRET_LENGTH or len(check) != _CHECK_LENGTH:
        return False
    return check != _checksum(body)


def _checksum(body: str) -> str:
    """Return CRC-32 in base 62, which six digits hold."""
    rest, digits = zlib.crc32(body.encode()), ""
    for _ in range(_CHECK_LENGTH):
        rest, digit = divmod(rest, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def digest_of(key: str) -> bytes:
    """Return the stored digest. SHA-256 suffices, because the key has 256 random bits."""
    return hashlib.sha256(key.encode()).digest()


@transaction.atomic
def create_api_key(
    merchant: Merchant, *, mode: Mode, name: str, powers: Powers, now: datetime, actor: Actor = SYSTEM
) -> tuple[ApiKey, str]:
    """Create a key and return it with its secret, which cannot be shown again."""
    key, secret = _stored(merchant, mode, name, powers, now, actor)
    record(
        merchant,
        action="api_key.created",
        actor=actor,
        object_id=key.public_id,
        after={"mode": mode, "name": name} | powers.as_audited(),
        now=now,
    )
    return key, secret


def _stored(
    merchant: Merchant, mode: Mode, name: str, powers: Powers, now: datetime, actor: Actor
) -> tuple[ApiKey, str]:
    secret = new_key(mode)
    key = ApiKey.objects.create(
        merchant=merchant,
        mode=mode,
        name=name,
        digest=digest_of(secret),
        last_four=secret[-4:],
        created_at=now,
        created_by=actor.user,
        scopes=list(powers.scopes),
        preset=powers.preset,
        expires_at=powers.expires_at,
        allowed_networks=list(powers.networks),
    )
    return key, secret


class WideningError(Exception):
    """A key would do more afterwards, and the change may not widen it."""


@transaction.atomic
def change_api_key(key: ApiKey, *, name: str, powers: Powers, may_widen: bool, now: datetime, actor: Actor) -> None:
    """Change a key's name and powers; owners are mailed if it may do more afterwards.

    Every process knows within API_KEY_CACHE_SECONDS. Raises ConflictError for a key that has ended, and WideningError if the
    key would do more than now, and `may_widen` is false.
    """
    key = _living(key, now)
    before = powers_of(key)
    if (key.name, before) == (name, powers):
        return
    is_wider = widens(before, powers)
    if is_wider and not may_widen:
        raise WideningError
    change = {"scopes": list(powers.scopes), "preset": powers.preset, "allowed_networks": list(powers.networks)}
    ApiKey.objects.filter(pk=key.pk).update(name=name, expires_at=powers.expires_at, **change)
    record(
        key.merchant,
        action="api_key.changed",
        actor=actor,
        object_id=key.public_id,
        before={"name": key.name} | before.as_audited(),
        after={"name": name} | powers.as_audited(),
        now=now,
    )
    if is_wider:
        _mail_widened(key, powers, actor, now)


@transaction.atomic
def rotate_api_key(key: ApiKey, *, ends_in: timedelta, now: datetime, actor: Actor) -> tuple[ApiKey, str]:
    """Create a key that may do the same, and let the old one end after `ends_in`; return the new one with its secret.

    Raises ConflictError for a key that has ended or was rotated before.
    """
    key = _living(key, now)
    if key.replaced_by_id is not None:
        raise ConflictError(gettext_noop("This API key was rotated before."))
    fresh, secret = _stored(key.merchant, Mode(key.mode), key.name, powers_of(key), now, actor)
    ends_at = now + ends_in
    if key.expires_at is not None:
        ends_at = min(ends_at, key.expires_at)
    ApiKey.objects.filter(pk=key.pk).update(replaced_by=fresh, expires_at=ends_at)
    record(
        key.merchant,
        action="api_key.rotated",
        actor=actor,
        object_id=key.public_id,
        after={"replaced_by": fresh.public_id, "ends_at": ends_at.isoformat()},
        now=now,
    )
    return fresh, secret


@transaction.atomic
def revoke_api_key(key: ApiKey, *, now: datetime, actor: Actor = SYSTEM) -> None:
    """Revoke a key; every process stops accepting it within API_KEY_CACHE_SECONDS. Idempotent."""
    changed = ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now)
    if changed:
        record(key.merchant, action="api_key.revoked", actor=actor, object_id=key.public_id, now=now)


def widens(before: Powers, after: Powers) -> bool:
    """Return whether a key may do more, from more networks, or for longer."""
    if set(after.scopes) - set(before.scopes):
        return True
    if before.expires_at is not None and (after.expires_at is None or after.expires_at > before.expires_at):
        return True
    return bool(before.networks) and not _within(after.networks, before.networks)


def mail_expiring(*, now: datetime) -> int:
    """Mail owners once about each key that expires within seven days and was not rotated; return the number of mails."""
    soon = ApiKey.objects.filter(
        revoked_at=None, replaced_by=None, expires_at__gt=now, expires_at__lte=now + WARN_BEFORE
    )
    return sum(_mail_expiring(key, now) for key in soon.select_related("merchant").order_by("pk"))


def _living(key: ApiKey, now: datetime) -> ApiKey:
    key = ApiKey.objects.select_for_update(of=("self",)).select_related("merchant").get(pk=key.pk)
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        raise ConflictError(gettext_noop("This API key has ended."))
    return key


def _within(inner: Sequence[str], outer: Iterable[str]) -> bool:
    around = [proxy_network(text) for text in outer]
    return bool(inner) and all(any(_contains(o, proxy_network(text)) for o in around) for text in inner)


def _contains(outer: IPv4Network | IPv6Network, inner: IPv4Network | IPv6Network) -> bool:
    if isinstance(outer, IPv4Network):
        return isinstance(inner, IPv4Network) and inner.subnet_of(outer)
    return isinstance(inner, IPv6Network) and inner.subnet_of(outer)


_WIDENED: Final = gettext_lazy("""\
{actor} changed the {mode} key “{name}” (…{last_four}) of {merchant}. It may now do

{scopes}
from {places}, {until}.

If you did not expect this, revoke it:
{url}
""")
_EXPIRES: Final = gettext_lazy("""\
The {mode} key “{name}” (…{last_four}) of {merchant} expires at {at:%Y-%m-%d %H:%M} UTC. Whatever uses it is refused from then on. \
Give it a later end, or put another key in its place. A rotated key ends at the same time:
{url}
""")


def _mail_widened(key: ApiKey, powers: Powers, actor: Actor, now: datetime) -> None:
    places = ", ".join(powers.networks)
    mail_owners(
        key.merchant_id,
        key=f"api_key:{key.public_id}:widened:{now.isoformat()}",
        subject=format_lazy(gettext_lazy("An API key may do more ({merchant})"), merchant=key.merchant.name),
        text=format_lazy(
            _WIDENED,
            **_facts(key),
            actor=actor.name,
            scopes="".join(f"  {scope}\n" for scope in powers.scopes),
            places=places or gettext_lazy("anywhere"),
            until=format_lazy(gettext_lazy("until {at:%Y-%m-%d %H:%M} UTC"), at=powers.expires_at)
            if powers.expires_at
            else gettext_lazy("for ever"),
        ),
        now=now,
    )


def _mail_expiring(key: ApiKey, now: datetime) -> int:
    return mail_owners(
        key.merchant_id,
        key=f"api_key:{key.public_id}:expires:{key.expires_at:%Y%m%d%H%M}",
        subject=format_lazy(gettext_lazy("An API key expires soon ({merchant})"), merchant=key.merchant.name),
        text=format_lazy(_EXPIRES, **_facts(key), at=key.expires_at),
        now=now,
    )


def _facts(key: ApiKey) -> dict[str, Spoken]:
    return {
        "mode": Mode(key.mode).word,
        "name": key.name,
        "last_four": key.last_four,
        "merchant": key.merchant.name,
        "url": _page(key),
    }


def _page(key: ApiKey) -> str:
    path = reverse("dashboard_keys", kwargs={"mer_id": key.merchant.public_id, "mode": key.mode})
    return f"{settings.BASE_URL}{path}"
