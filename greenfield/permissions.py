"""BTCPay Server's permissions, and the scopes of ours that each one needs. A permission that is not here is refused."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.core.api.scopes import Scope

_STORE: Final = "btcpay.store."
_CHANGE_SETTINGS: Final = f"{_STORE}canmodifystoresettings"


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission: its words for people, and what a key needs for it. Without scopes it allows nothing here.

    The words say all that the scopes allow, at our own API too: a person agrees to the words, and the key has the scopes.
    """

    words: str
    scopes: tuple[Scope, ...] = ()


_WRITING: Final = "Create checkouts, and cancel unpaid ones"
_ASKING: Final = "Ask for refunds and payouts, to any address, which your people approve and pay"

PERMISSIONS: Final[Mapping[str, Permission]] = {
    f"{_STORE}canviewinvoices": Permission("Read checkouts, with what buyers left there", (Scope.CHECKOUTS_READ,)),
    f"{_STORE}cancreateinvoice": Permission(_WRITING, (Scope.CHECKOUTS_WRITE,)),
    f"{_STORE}canmodifyinvoices": Permission(_WRITING, (Scope.CHECKOUTS_WRITE,)),
    f"{_STORE}canviewstoresettings": Permission(
        "Read your name, the networks you accept, and checkouts", (Scope.CHECKOUTS_READ,)
    ),
    # PrestaShop's plugin refuses to work without it, and changes no setting.
    _CHANGE_SETTINGS: Permission("Change settings of the store: allows nothing here"),
    f"{_STORE}webhooks.canmodifywebhooks": Permission(
        "Add webhook endpoints, and change and delete all that were added", (Scope.WEBHOOKS_READ, Scope.WEBHOOKS_WRITE)
    ),
    f"{_STORE}cancreatenonapprovedpullpayments": Permission(_ASKING, (Scope.PAYOUTS_REQUEST,)),
    f"{_STORE}cancreatepullpayments": Permission(_ASKING, (Scope.PAYOUTS_REQUEST,)),
}
"""By BTCPay Server's name. WooCommerce, PrestaShop, Magento and Shopware ask for some of these."""


def makes_orders(names: Iterable[str]) -> bool:
    """Return whether a plugin that asked for these may make an order only once money came: PrestaShop's can be set so."""
    return _CHANGE_SETTINGS in names


def reads_older_answers(names: Iterable[str]) -> bool:
    """Return whether a plugin that asked for these reads answers by a library from before BTCPay Server 2.

    PrestaShop's alone asks to change settings, and its library alone is that old: it fails where a list stands for an object.
    """
    return _CHANGE_SETTINGS in names


def unknown(names: Iterable[str]) -> list[str]:
    """Return the names that are no permission of the facade's."""
    return [name for name in names if name not in PERMISSIONS]


def scopes_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes that known permissions need, each once, in the order of `Scope`; none for those that allow nothing."""
    needed = {scope for name in names for scope in PERMISSIONS[name].scopes}
    return tuple(str(scope) for scope in Scope if scope in needed)


def held_by(scopes: Collection[str]) -> list[str]:
    """Return the permissions that a key's scopes allow, for a key that no consent page made."""
    return [name for name, each in PERMISSIONS.items() if each.scopes and set(each.scopes) <= set(scopes)]


def opening(scope: str) -> str:
    """Return the first permission that opens a scope, for the error of a key that lacks it."""
    return next((name for name, each in PERMISSIONS.items() if scope in each.scopes), "")


def of_store(names: Iterable[str], store_id: str) -> list[str]:
    """Return permissions as a key of one store has them: `btcpay.store.canviewinvoices:mer_...`."""
    return [f"{name}:{store_id}" for name in names]
