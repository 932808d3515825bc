"""Wallet apps on phones, and the links into them: to open a page in an app's own browser, or an app with a payment filled in.

Each row says where its link was read, and when. No link here names neither a wallet nor a token (`ethereum:`, `tron:`, `ton:`):
whichever app takes such a link may send its network's own coin, or send to the token's contract. A chain's facts list its apps.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, urldefrag, urlsplit

from wallets.chains.family import PaymentRequest

_READ: Final = date(2026, 11, 26)
_READ_AGAIN: Final = date(2026, 12, 1)


@dataclass(frozen=True, slots=True)
class WalletApp:
    """One app. `opens` is the link that opens a page in its browser, `pays` the link with a payment filled in.

    A link may name `{page}`, the page's address; `{url}`, that percent-encoded whole; `{bare}`, that without `https://`; `{origin}`,
    encoded; `{coin}`, the family's entry in `coins`; `{inner}`, which is `inner` filled in and encoded once more, a link or an
    object; of a payment `{uri}`, its link, and `{path}`, that without the scheme. `again` opens the page another way, if the first
    opened nothing. `intent` does so in browsers that follow Android's `intent:` links. An app that is not `is_default` is offered
    only where `WALLET_LINKS` names it.
    """

    key: str
    name: str
    source: str
    read_on: date
    opens: str = ""
    again: str = ""
    intent: str = ""
    pays: str = ""
    inner: str | Mapping[str, str] = ""
    coins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    is_default: bool = True
    is_any: bool = False
    """The phone picks an app: `name` says so, and is translated."""


APPS: Final = (
    WalletApp(
        key="metamask",
        name="MetaMask",
        # The path is not encoded: an encoded one opened a blank tab (genlayer-foundation/points, PR 622).
        opens="https://link.metamask.io/dapp/{bare}",
        again="metamask://dapp/{bare}",
        source="docs.metamask.io, use-deeplinks; MetaMask/metamask-mobile, handleUniversalLink.ts at 00f914fd",
        read_on=_READ,
    ),
    WalletApp(
        key="trust",
        name="Trust Wallet",
        opens="https://link.trustwallet.com/open_url?coin_id={coin}&url={url}",
        again="trust://open_url?coin_id={coin}&url={url}",
        # SLIP-44. The page itself asks for its network, so Ethereum's number does for Base and Polygon.
        coins={"evm": "60", "tron": "195"},
        source="developer.trustwallet.com, deeplinking; trustwallet/trust-web3-provider, PR 778 (Tron)",
        read_on=_READ,
    ),
    WalletApp(
        key="base",
        name="Base App",
        opens="cbwallet://miniapp?url={url}",
        # Seen to open the app but not its browser (cowprotocol/cowswap, issue 6888).
        again="https://go.cb-w.com/dapp?cb_url={url}",
        source="reown-com/appkit, MobileWallet.ts at ea99fd12; base/docs, PR 511 and issue 1420",
        read_on=_READ,
    ),
    WalletApp(
        key="phantom",
        name="Phantom",
        opens="https://phantom.app/ul/browse/{url}?ref={origin}",
        # Some browsers on Android do not hand the web address to the app. The package keeps other apps from taking this link.
        intent="intent://browse/{url}?ref={origin}#Intent;scheme=phantom;package=app.phantom;end",
        source="docs.phantom.com, browse; anza-xyz/wallet-adapter, phantom adapter.ts at ca731858; reown-com/appkit, PR 5493, and"
        " MobileWallet.ts at ea99fd12 (intent)",
        read_on=_READ,
    ),
    WalletApp(
        key="solflare",
        name="Solflare",
        opens="https://solflare.com/ul/v1/browse/{url}?ref={origin}",
        source="anza-xyz/wallet-adapter, solflare adapter.ts at ca731858; reown-com/appkit, MobileWallet.ts at ea99fd12",
        read_on=_READ,
    ),
    WalletApp(
        key="backpack",
        name="Backpack",
        opens="https://backpack.app/ul/v1/browse/{url}?ref={origin}",
        source="a public table that cites docs.backpack.app/deeplinks/other-methods/browse, which itself was not read",
        read_on=_READ,
    ),
    WalletApp(
        key="okx",
        name="OKX Wallet",
        opens="https://web3.okx.com/download?deeplink={inner}",
        inner="okx://wallet/dapp/url?dappUrl={url}",
        again="okx://wallet/dapp/url?dappUrl={url}",
        source="web3.okx.com, app-universal-link; tronweb3/tronwallet-adapter, okxwallet at 9e97eb70",
        read_on=_READ,
    ),
    WalletApp(
        key="rainbow",
        name="Rainbow",
        opens="https://rnbwapp.com/dapp?url={url}",
        again="rainbow://dapp?url={url}",
        source="rainbow-me/rainbow, deeplinks.ts, case dapp; daimo-eth/pay, walletConfigs.tsx at 82c7f300^",
        read_on=_READ,
    ),
    WalletApp(
        key="bitget",
        name="Bitget Wallet",
        # From a web page on Android only this form works, says the vendor. Browsers add a slash before the query.
        opens="https://bkcode.vip?action=dapp&url={url}",
        source="docs.bitkeep.com, Deeplink; tronweb3/tronwallet-adapter, bitkeep utils.ts at 9e97eb70",
        read_on=_READ,
    ),
    WalletApp(
        key="tronlink",
        name="TronLink",
        opens="tronlinkoutside://pull.activity?param={inner}",
        inner={"url": "{page}", "action": "open", "protocol": "TronLink", "version": "1.0"},
        source="docs.tronlink.org, mobile/deeplink; tronweb3/tronwallet-adapter, tronlink utils.ts at 9e97eb70",
        read_on=_READ,
    ),
    WalletApp(
        key="tokenpocket",
        name="TokenPocket",
        opens="tpdapp://open?params={inner}",
        inner={
            "action": "open",
            "blockchain": "Tron",
            "chain": "Tron",
            "url": "{page}",
            "protocol": "TokenPocket",
            "version": "1.0",
        },
        source="tronweb3/tronwallet-adapter, tokenpocket utils.ts at 9e97eb70",
        read_on=_READ,
        is_default=False,
    ),
    WalletApp(
        key="imtoken",
        name="imToken",
        opens="imtokenv2://navigate/DappView?url={url}",
        again="https://connect.token.im/link/navigate/DappView?url={url}",
        source="tronweb3/tronwallet-adapter, imtoken utils.ts at 9e97eb70; the https form in three public repositories",
        read_on=_READ,
        is_default=False,
    ),
    WalletApp(
        key="tonkeeper",
        name="Tonkeeper",
        # On Android an unknown parameter makes the app refuse the link. On an iPhone it skips what it does not know.
        pays="https://app.tonkeeper.com/{path}",
        source="tonkeeper/android, DeepLinkRoute.kt; tonkeeper/ios, TonkeeperDeeplinkParser.swift at 0837303f; ton-blockchain/docs,"
        " deep-links.mdx at b88ac54d",
        read_on=_READ_AGAIN,
    ),
    WalletApp(
        key="mytonwallet",
        name="MyTonWallet",
        pays="https://my.tt/{path}",
        source="mytonwallet-org/mytonwallet, src/util/deeplink/index.ts at 006ec21d",
        read_on=_READ_AGAIN,
    ),
    WalletApp(
        key="solana-pay",
        name="Another Solana wallet",
        # Fails by tap on some phones where the code works (solana-foundation/pay, issue 241), so it is the last.
        pays="{uri}",
        source="solana-foundation/pay, Solana Pay 1.1, issues 83 and 241",
        read_on=_READ,
        is_any=True,
    ),
)

BY_KEY: Final = MappingProxyType({app.key: app for app in APPS})


@dataclass(frozen=True, slots=True)
class WalletLink:
    """A link into a wallet app, and another for a second try, which may be the same.

    `intent` is that of a second try in a browser that follows such links; empty if there is none. `opens_page` says that a link
    leads to the page in the app's browser; otherwise the payment is filled in. `is_any`: the phone picks an app, and `name` says
    that.
    """

    app: str
    name: str
    url: str
    again: str
    opens_page: bool
    is_any: bool
    intent: str = ""

    @property
    def is_web(self) -> bool:
        """Whether it is a web address, which a browser follows also where the app is missing."""
        return self.url.startswith("https:")


def wallet_links(
    request: PaymentRequest, *, page_url: str, named: Sequence[str] | None = None
) -> tuple[WalletLink, ...]:
    """Return the links into a chain's wallet apps, the likeliest first; none if the settings no longer name the token.

    `named` are the keys of the only apps to offer, in that order; None for those that are offered by default.
    """
    if request.token not in request.spec.tokens:
        return ()
    listed = [BY_KEY[key] for key in request.spec.apps]
    if named is None:
        chosen = [app for app in listed if app.is_default]
    else:
        keys = dict.fromkeys(key.strip() for key in named)
        chosen = [BY_KEY[key] for key in keys if key in request.spec.apps]
    page = _places(page_url)
    return tuple(_pay_link(app, request) if app.pays else _page_link(app, request, page) for app in chosen)


def _pay_link(app: WalletApp, request: PaymentRequest) -> WalletLink:
    uri = request.spec.family.payment_uri(request) or ""
    url = app.pays.format(uri=uri, path=uri.partition("://")[2])
    return WalletLink(app.key, app.name, url, url, opens_page=False, is_any=app.is_any)


def _page_link(app: WalletApp, request: PaymentRequest, page: Mapping[str, str]) -> WalletLink:
    places = {**page, "coin": app.coins.get(request.spec.family.name, "")}
    if app.inner:
        places["inner"] = quote(_inner(app.inner, places), safe="")
    url, again, intent = (template.format(**places) for template in (app.opens, app.again, app.intent))
    return WalletLink(app.key, app.name, url, again or url, opens_page=True, is_any=app.is_any, intent=intent)


def _places(page_url: str) -> dict[str, str]:
    page = urldefrag(page_url).url
    parts = urlsplit(page)
    return {
        "page": page,
        "url": quote(page, safe=""),
        "bare": page.partition("://")[2],
        "origin": quote(f"{parts.scheme}://{parts.netloc}", safe=""),
    }


def _inner(inner: str | Mapping[str, str], places: Mapping[str, str]) -> str:
    if isinstance(inner, str):
        return inner.format(**places)
    filled = {name: value.format(**places) for name, value in inner.items()}
    return json.dumps(filled, separators=(",", ":"))
