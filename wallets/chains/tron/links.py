"""Payment links for Tron wallets. Pure."""

import json
from urllib.parse import quote

from wallets.chains.payments import WalletLink


def wallet_links(page_url: str) -> list[WalletLink]:
    """Return the link that opens the page in TronLink's browser: TronLink has no payment links."""
    call = {"url": page_url, "action": "open", "protocol": "tronlink", "version": "1.0"}
    param = quote(json.dumps(call, separators=(",", ":")), safe="")
    return [WalletLink("TronLink", f"tronlinkoutside://pull.activity?param={param}")]
