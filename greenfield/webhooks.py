"""Webhooks of plugins: listed endpoints in BTCPay Server's format. Ordinary endpoints are not among them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, NotFoundError
from greenfield import permissions
from greenfield.bodies import NewWebhook
from greenfield.events import dialect_of, may_make_orders, needed_events
from greenfield.models import Connection
from greenfield.selectors import connection_of
from webhooks.endpoints.secrets import own_secret
from webhooks.listed.service import (
    add_endpoint,
    change_endpoint,
    endpoint_named,
    endpoints_of,
    locked_endpoint,
    replace_endpoint_secret,
)
from webhooks.models import NAME_LENGTH, Endpoint
from webhooks.states import Format

_NAME: Final = "Shop plugin"


def webhooks_of(merchant: Merchant, mode: Mode) -> list[Endpoint]:
    """Return the plugins' endpoints, oldest first."""
    return list(endpoints_of(merchant.pk, mode).filter(format=Format.BTCPAY).order_by("created_at", "pk"))


def webhook_named(merchant: Merchant, mode: Mode, public_id: str) -> Endpoint:
    """Return one of `webhooks_of`. Raises NotFoundError."""
    endpoint = endpoint_named(merchant.pk, mode, public_id)
    if endpoint.format != Format.BTCPAY:
        raise NotFoundError("There is no such webhook here.", param="endpoint_id")
    return endpoint


@transaction.atomic
def add_webhook(
    merchant: Merchant, mode: Mode, wanted: NewWebhook, *, key_id: str, now: datetime, actor: Actor
) -> tuple[Endpoint, str]:
    """Add an endpoint; return it with its secret, the caller's own or a new one.

    A plugin that is connected again has forgotten its endpoint: the one at its URL is then changed, and gets another secret. Of
    several requests at once one adds it, and the others get that one with the secret that it has, or with their own. Raises
    ConflictError where the URL is an ordinary endpoint's, or too many are listed.
    """
    connection = connection_of(key_id)
    if (there := _webhook_at(merchant, mode, wanted.url)) is not None:
        changed = _change(there, wanted, connection, now=now, actor=actor)
        return changed, wanted.secret or replace_endpoint_secret(changed, now=now, actor=actor)
    values = _values(wanted, _name(connection), merchant.public_id, makes_orders=_makes_orders(connection))
    try:
        # Its locks end with it where another request came first: the endpoint is then locked in the usual order.
        with transaction.atomic():
            return add_endpoint(
                merchant, mode=mode, values=values, secret=wanted.secret, now=now, actor=actor, form=Format.BTCPAY
            )
    except ConflictError as error:
        if error.code != "duplicate" or (added := _webhook_at(merchant, mode, wanted.url)) is None:
            raise
    changed = _change(added, wanted, connection, now=now, actor=actor)
    # Another secret would end the one that the other request was answered a moment ago.
    return changed, wanted.secret or own_secret(changed)


def change_webhook(endpoint: Endpoint, wanted: NewWebhook, *, now: datetime, actor: Actor) -> Endpoint:
    """Change an endpoint, and its secret if one is given. Raises ConflictError where another endpoint has the URL."""
    return _change(endpoint, wanted, None, now=now, actor=actor)


def webhook_object(endpoint: Endpoint) -> dict[str, Any]:
    """Return an endpoint as a webhook, without its secret."""
    chosen = (endpoint.dialect or {}).get("events")
    return {
        "id": endpoint.public_id,
        "enabled": endpoint.is_enabled,
        # Always: Magento's plugin wants it, and a merchant can turn nothing of it off.
        "automaticRedelivery": True,
        "url": endpoint.url,
        "authorizedEvents": {"everything": chosen is None, "specificEvents": chosen or []},
    }


@transaction.atomic
def _change(
    endpoint: Endpoint, wanted: NewWebhook, connection: Connection | None, *, now: datetime, actor: Actor
) -> Endpoint:
    held = locked_endpoint(endpoint)
    if held.format != Format.BTCPAY:
        raise ConflictError("This endpoint is no plugin's any more.")
    makes_orders = may_make_orders(held.dialect) or _makes_orders(connection)
    values = _values(wanted, held.name, held.merchant.public_id, makes_orders=makes_orders)
    changed = change_endpoint(held, values=values, now=now, actor=actor)
    if wanted.secret:
        replace_endpoint_secret(changed, secret=wanted.secret, now=now, actor=actor)
    return changed


def _webhook_at(merchant: Merchant, mode: Mode, url: str) -> Endpoint | None:
    return next((one for one in webhooks_of(merchant, mode) if one.url == url), None)


def _makes_orders(connection: Connection | None) -> bool:
    return connection is not None and permissions.makes_orders(connection.permissions)


def _values(wanted: NewWebhook, name: str, store_id: str, *, makes_orders: bool) -> Mapping[str, Any]:
    return {
        "url": wanted.url,
        "name": name,
        "events": needed_events(wanted.types),
        "is_enabled": wanted.is_enabled,
        "dialect": dialect_of(wanted.types, store_id=store_id, makes_orders=makes_orders),
    }


def _name(connection: Connection | None) -> str:
    """Return what people read: what the plugin calls itself."""
    return (connection.application if connection else "")[:NAME_LENGTH] or _NAME
