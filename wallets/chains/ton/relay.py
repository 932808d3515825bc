"""TON Connect over an HTTP bridge: which wallets a page can reach through one, and what the page is told of them.

A wallet listens at the bridge that its vendor chose, so an address of the operator's own leads to a wallet only if it forwards to
that bridge. Protocol: https://github.com/ton-blockchain/ton-connect, `bridge.md` and `session.md`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from wallets.chains.wallet_apps import BY_KEY as APPS

# It becomes a source of a content security policy, where a space or a semicolon would begin something else.
_BRIDGE: Final = re.compile(r"https://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[1-9][0-9]{0,4})?(?:/[\w.~-]+)*/?", re.ASCII)


@dataclass(frozen=True, slots=True)
class RelayedWallet:
    """A wallet app: `link` opens it with a request, and `bridge` is where it listens. Both were read at `source`.

    It is a row of its own beside the app's in `wallets.chains.wallet_apps`: another link, another source, read another day.
    """

    key: str
    name: str
    link: str
    bridge: str
    source: str
    read_on: date


_LIST: Final = "ton-connect/wallets-list, wallets-v2.json at b1a4431f"
_READ: Final = date(2026, 11, 30)

RELAYED: Final = (
    RelayedWallet(
        key="tonkeeper",
        name=APPS["tonkeeper"].name,
        link="https://app.tonkeeper.com/ton-connect",
        bridge="https://bridge.tonapi.io/bridge",
        source=_LIST,
        read_on=_READ,
    ),
    RelayedWallet(
        key="mytonwallet",
        name=APPS["mytonwallet"].name,
        link="https://connect.mytonwallet.org",
        bridge="https://tonconnectbridge.mytonwallet.org/bridge",
        source=_LIST,
        read_on=_READ,
    ),
    RelayedWallet(
        key="telegram-wallet",
        name="Wallet in Telegram",
        # The list's `?attach=wallet` is an older form, which the SDK writes so.
        link="https://t.me/wallet/start",
        bridge="https://walletbot.me/tonconnect-bridge/bridge",
        source=f"{_LIST}; ton-connect/sdk, universal-link.ts at a07a1659",
        read_on=_READ,
    ),
    RelayedWallet(
        key="tonhub",
        name="Tonhub",
        link="https://tonhub.com/ton-connect",
        bridge="https://connect.tonhubapi.com/tonconnect",
        source=_LIST,
        read_on=_READ,
    ),
)
"""The wallets that a page can be told of. A vendor's page was not read: the list is the wallets' own, by pull requests."""

BY_KEY: Final = MappingProxyType({wallet.key: wallet for wallet in RELAYED})


@dataclass(frozen=True, slots=True)
class WalletBridge:
    """A bridge's address without a slash at its end, and the wallets that a page reaches through it, at least one."""

    bridge: str
    wallets: tuple[RelayedWallet, ...]

    @property
    def origin(self) -> str:
        """Return the one origin that the page has to reach."""
        parts = urlsplit(self.bridge)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def keys(self) -> frozenset[str]:
        """Return the wallets' keys, which are those of `wallets.chains.wallet_apps` where an app is in both tables."""
        return frozenset(wallet.key for wallet in self.wallets)

    @property
    def told(self) -> dict[str, Any]:
        """Return `{bridge, wallets: [{key, name, link}]}` for the page's script."""
        wallets = [{"key": one.key, "name": one.name, "link": one.link} for one in self.wallets]
        return {"bridge": self.bridge, "wallets": wallets}


def is_bridge(url: str) -> bool:
    """Whether a text is an https address without credentials, query or fragment, in ASCII."""
    return bool(_BRIDGE.fullmatch(url)) and not url.endswith("//")


def open_relay(url: str, keys: Sequence[str] = ()) -> WalletBridge | None:
    """Return what a page is told of a bridge; None if the address is empty or wrong, or no wallet is known behind it.

    `keys` name the wallets behind an address of the operator's own; without any, they are those that listen there themselves.
    """
    if not is_bridge(url):
        return None
    bridge = url.rstrip("/")
    named = [BY_KEY[key] for key in dict.fromkeys(keys) if key in BY_KEY]
    wallets = named if keys else [wallet for wallet in RELAYED if wallet.bridge == bridge]
    return WalletBridge(bridge, tuple(wallets)) if wallets else None
