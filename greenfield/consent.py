"""What a plugin asks for on the consent page, and the key that an owner gives it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import ada_url
from django.db import transaction
from django.http import QueryDict

from accounts.audit.actors import Actor
from accounts.keys.service import Powers, create_api_key
from accounts.models import ApiKey, Membership, Merchant, User
from accounts.states import Mode, Preset, Role
from accounts.team.permissions import Act, may
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.fields import missing, refuse
from gateway.core.outbound import check_url, url_policy
from greenfield.bodies import read_line
from greenfield.models import NAME_LENGTH, Connection
from greenfield.permissions import PERMISSIONS, scopes_of, unknown

# The host goes into a content security policy, where a semicolon would begin another rule.
_HOST: Final = re.compile(r"[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\]", re.ASCII)
_MOST_PERMISSIONS: Final = 40
_SHOWN_UNKNOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Wish:
    """What a plugin asks for. Without a `redirect` the person copies the key.

    `host` is the redirect's in ASCII, so that no look-alike letter hides in it; `origin` is what a form may be sent to.
    """

    permissions: tuple[str, ...]
    application: str
    redirect: str = ""
    host: str = ""
    origin: str = ""

    @property
    def words(self) -> list[str]:
        """Return what a key will do, each once."""
        return list(dict.fromkeys(PERMISSIONS[name].words for name in self.permissions))


@dataclass(frozen=True, slots=True)
class PluginStore:
    """A merchant and a mode that a person may make a key for: one store of a plugin."""

    merchant: Merchant
    mode: Mode

    @property
    def value(self) -> str:
        """Return what the form sends."""
        return f"{self.merchant.public_id}/{self.mode}"


def read_wish(query: QueryDict) -> Wish:
    """Read the query string of the consent page. Raises InvalidRequestError, whose message a person reads."""
    named = [*query.getlist("permissions"), *query.getlist("permissions[]")]
    permissions = tuple(dict.fromkeys(name for text in named for name in re.split(r"[,\s]+", text) if name))
    if not permissions:
        raise missing("permissions")
    if len(permissions) > _MOST_PERMISSIONS:
        raise refuse("permissions", f"At most {_MOST_PERMISSIONS} permissions.")
    if strange := unknown(permissions):
        raise refuse("permissions", f"Florin has nothing like the permission {strange[0][:_SHOWN_UNKNOWN]}.")
    if not scopes_of(permissions):
        raise refuse("permissions", "These permissions allow nothing here.")
    application = read_line({"name": query.get("applicationName")}, "name", NAME_LENGTH)
    redirect = query.get("redirect") or ""
    if not redirect:
        return Wish(permissions, application)
    host, origin = _host(redirect)
    return Wish(permissions, application, redirect, host, origin)


def places_of(user: User) -> Iterator[PluginStore]:
    """Yield where a person may make keys, live before test; closed merchants are left out."""
    mine = Membership.objects.filter(user=user, merchant__closed_at=None).select_related("merchant")
    for membership in mine.order_by("merchant__name", "pk"):
        if may(Role(membership.role), Act.MANAGE_KEYS):
            yield PluginStore(membership.merchant, Mode.LIVE)
            yield PluginStore(membership.merchant, Mode.TEST)


def chosen(places: Iterable[PluginStore], value: str) -> PluginStore | None:
    """Return the place that a form sent; None for any other."""
    return next((place for place in places if place.value == value), None)


@transaction.atomic
def connect(place: PluginStore, wish: Wish, *, now: datetime, actor: Actor) -> tuple[ApiKey, str]:
    """Make the key that a plugin asked for, with the scopes of its permissions and no others; return it with its secret."""
    # What a program calls itself must not crowd out where its key went, nor a long host its own end, which says whose it is.
    where = f" at {wish.host}"[-NAME_LENGTH:] if wish.host else ""
    name = (wish.application or "Shop plugin")[: NAME_LENGTH - len(where)] + where
    powers = Powers(scopes=scopes_of(wish.permissions), preset=Preset.SHOP_PLUGIN)
    key, secret = create_api_key(place.merchant, mode=place.mode, name=name, powers=powers, now=now, actor=actor)
    Connection.objects.create(
        api_key=key, permissions=list(wish.permissions), application=wish.application, redirect_host=wish.host
    )
    return key, secret


def _host(redirect: str) -> tuple[str, str]:
    """Return the host and origin of an address, as browsers read them. Raises InvalidRequestError."""
    check_url(redirect, param="redirect", policy=url_policy())
    try:
        url = ada_url.URL(redirect)
    except ValueError as error:
        raise InvalidRequestError("redirect must be a URL.", param="redirect") from error
    if not _HOST.fullmatch(url.hostname) or url.protocol not in {"http:", "https:"}:
        raise InvalidRequestError("redirect must name a host.", param="redirect")
    return url.host, f"{url.protocol}//{url.host}"
