"""Presets of scopes, and the scopes of each resource, for the page on which a person makes a key."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils.translation import gettext_noop

from accounts.keys.service import Powers
from accounts.states import SCOPES_OF_0_25, Preset
from gateway.core.api.scopes import Scope

_READS: Final = tuple(scope for scope in Scope if scope.endswith(":read"))

_SHOP: Final = (
    Scope.CHECKOUTS_READ,
    Scope.CHECKOUTS_WRITE,
    Scope.LINKS_READ,
    Scope.EVENTS_READ,
    Scope.PAYOUTS_READ,
    Scope.PAYOUTS_REQUEST,
)

PRESETS: Final[Mapping[Preset, tuple[Scope, ...]]] = {
    Preset.SHOP: _SHOP,
    Preset.SHOP_PLUGIN: (*_SHOP, Scope.WEBHOOKS_READ, Scope.WEBHOOKS_WRITE),
    Preset.PAID_API: (Scope.X402_READ, Scope.X402_VERIFY, Scope.X402_SETTLE),
    Preset.ACCOUNTANT: (
        Scope.CHECKOUTS_READ,
        Scope.LINKS_READ,
        Scope.INBOX_READ,
        Scope.PAYOUTS_READ,
        Scope.REPORTS_READ,
        Scope.WALLETS_READ,
        Scope.X402_READ,
    ),
    Preset.AGENT: _READS,
    Preset.EVERYTHING: tuple(map(Scope, SCOPES_OF_0_25)),
}
"""The scopes that each preset fills in when a key is made. A scope of a later release joins no key that exists."""


def preset_powers(preset: Preset) -> Powers:
    """Return what a new key of a preset may do, from anywhere and for ever."""
    return Powers(PRESETS[preset], preset)


LIVES: Final[Mapping[Preset, timedelta]] = {Preset.AGENT: timedelta(days=30)}
"""How long a new key of a preset lasts, unless a person chooses otherwise; others last for ever. An assistant's settings leak more often."""

USES: Final[Mapping[Preset, str]] = {
    Preset.SHOP: gettext_noop(
        "A web shop: makes checkouts, reads them and their events, and asks for refunds, which your people approve."
    ),
    Preset.SHOP_PLUGIN: gettext_noop(
        "A shop system's plugin: does what a web shop does, and adds its own webhook endpoint."
    ),
    Preset.PAID_API: gettext_noop("A server that sells to machines (x402): verifies and settles their payments."),
    Preset.ACCOUNTANT: gettext_noop("Bookkeeping: reads payments, reports and watched wallets."),
    Preset.AGENT: gettext_noop("An assistant or a monitor: reads everything, changes nothing."),
    Preset.EVERYTHING: gettext_noop("All that any key could do before keys had scopes."),
    Preset.CUSTOM: gettext_noop("Choose for each resource."),
}
"""What each preset is for, in one sentence for people."""


@dataclass(frozen=True, slots=True)
class Resource:
    """What a key can be allowed to do with one kind of thing: levels, each a name and its scopes, beginning with none."""

    name: str
    title: str
    levels: tuple[tuple[str, tuple[Scope, ...]], ...]


def _resource(name: str, title: str, *levels: tuple[str, tuple[Scope, ...]]) -> Resource:
    return Resource(name, title, ((gettext_noop("None"), ()), *levels))


RESOURCES: Final = (
    _resource(
        "checkouts",
        gettext_noop("Checkouts"),
        (gettext_noop("Read"), (Scope.CHECKOUTS_READ,)),
        (gettext_noop("Read and write"), (Scope.CHECKOUTS_READ, Scope.CHECKOUTS_WRITE)),
    ),
    _resource("escrow", gettext_noop("Escrow"), (gettext_noop("Release"), (Scope.ESCROW_RELEASE,))),
    _resource(
        "links",
        gettext_noop("Payment links"),
        (gettext_noop("Read"), (Scope.LINKS_READ,)),
        (gettext_noop("Read and write"), (Scope.LINKS_READ, Scope.LINKS_WRITE)),
    ),
    _resource("events", gettext_noop("Events"), (gettext_noop("Read"), (Scope.EVENTS_READ,))),
    _resource(
        "webhooks",
        gettext_noop("Webhook endpoints"),
        (gettext_noop("Read"), (Scope.WEBHOOKS_READ,)),
        (gettext_noop("Read and write"), (Scope.WEBHOOKS_READ, Scope.WEBHOOKS_WRITE)),
    ),
    _resource("inbox", gettext_noop("Inbox"), (gettext_noop("Read"), (Scope.INBOX_READ,))),
    _resource(
        "payouts",
        gettext_noop("Refunds and payouts"),
        (gettext_noop("Read"), (Scope.PAYOUTS_READ,)),
        (gettext_noop("Read and ask for"), (Scope.PAYOUTS_READ, Scope.PAYOUTS_REQUEST)),
    ),
    _resource("reports", gettext_noop("Reports"), (gettext_noop("Read"), (Scope.REPORTS_READ,))),
    _resource(
        "terminals",
        gettext_noop("Terminals"),
        (gettext_noop("Read"), (Scope.TERMINALS_READ,)),
        (gettext_noop("Read, add, pair and revoke"), (Scope.TERMINALS_READ, Scope.TERMINALS_WRITE)),
    ),
    _resource(
        "wallets",
        gettext_noop("Watched wallets"),
        (gettext_noop("Read"), (Scope.WALLETS_READ,)),
        (gettext_noop("Read and write"), (Scope.WALLETS_READ, Scope.WALLETS_WRITE)),
    ),
    _resource(
        "x402",
        gettext_noop("Payments of machines (x402)"),
        (gettext_noop("Read"), (Scope.X402_READ,)),
        (gettext_noop("Read and verify"), (Scope.X402_READ, Scope.X402_VERIFY)),
        (gettext_noop("Read, verify and settle"), (Scope.X402_READ, Scope.X402_VERIFY, Scope.X402_SETTLE)),
    ),
)
"""What the page offers, resource by resource."""
