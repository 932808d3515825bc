"""BTCPay Server's permissions, and the scopes of ours that each one needs. A permission that is not here is refused."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.core.api.scopes import Scope

_STORE: Final = "btcpay.store."


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission: its words for people, and what a key needs for it. Without scopes it allows nothing here."""

    words: str
    scopes: tuple[Scope, ...] = ()


PERMISSIONS: Final[Mapping[str, Permission]] = {
    f"{_STORE}canviewinvoices": Permission("Read checkouts", (Scope.CHECKOUTS_READ,)),
    f"{_STORE}cancreateinvoice": Permission("Create checkouts", (Scope.CHECKOUTS_WRITE,)),
    f"{_STORE}canmodifyinvoices": Permission("Cancel unpaid checkouts", (Scope.CHECKOUTS_WRITE,)),
    f"{_STORE}canviewstoresettings": Permission("Read your name and the networks you accept", (Scope.CHECKOUTS_READ,)),
    # PrestaShop's plugin refuses to work without it, and changes no setting.
    f"{_STORE}canmodifystoresettings": Permission("Change settings of the store: allows nothing here"),
    f"{_STORE}webhooks.canmodifywebhooks": Permission(
        "Add, change and delete webhook endpoints of its own", (Scope.WEBHOOKS_READ, Scope.WEBHOOKS_WRITE)
    ),
    f"{_STORE}cancreatenonapprovedpullpayments": Permission(
        "Ask for refunds, which your people approve and pay", (Scope.PAYOUTS_REQUEST,)
    ),
    f"{_STORE}cancreatepullpayments": Permission(
        "Ask for refunds, which your people approve and pay", (Scope.PAYOUTS_REQUEST,)
    ),
}
"""By BTCPay Server's name. WooCommerce, PrestaShop, Magento and Shopware ask for some of these."""


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
