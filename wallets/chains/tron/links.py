"""What Tron's wallets are told by a link. Pure."""

import json
from urllib.parse import quote

from wallets.chains.payments import WalletLink


def wallet_links(page_url: str) -> list[WalletLink]:
    """TronLink takes no payment by link; it opens the page in its own browser."""
    call = {
        "url": page_url,
        "action": "open",
        "protocol": "tronlink",
        "version": "1.0",
    }
    param = quote(json.dumps(call, separators=(",", ":")), safe="")
    return [WalletLink("TronLink", f"tronlinkoutside://pull.activity?param={param}")]
