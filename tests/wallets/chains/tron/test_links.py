"""TronLink opens the page in its own browser."""

import json
from urllib.parse import parse_qs, urlsplit

from wallets.chains.tron.links import wallet_links


def test_the_link_opens_the_page_whatever_its_address_holds() -> None:
    page = "https://pay.example/c/code?chain=tron&x=ä b"
    [link] = wallet_links(page)
    parts = urlsplit(link.url)
    assert (link.name, parts.scheme, parts.netloc) == ("TronLink", "tronlinkoutside", "pull.activity")
    [param] = parse_qs(parts.query)["param"]
    assert json.loads(param) == {"url": page, "action": "open", "protocol": "tronlink", "version": "1.0"}
