"""Payment links for TON wallets. Pure."""

from urllib.parse import urlencode

from wallets.chains.payments import PaymentRequest, WalletLink
from wallets.chains.ton.address import shown_address


def payment_uri(request: PaymentRequest) -> str:
    """Return the `ton://` link of a transfer."""
    return f"ton://{_transfer(request)}"


def wallet_links(request: PaymentRequest) -> list[WalletLink]:
    """Return the links into Tonkeeper and MyTonWallet."""
    path = _transfer(request)
    return [
        WalletLink("Tonkeeper", f"https://app.tonkeeper.com/{path}"),
        WalletLink("MyTonWallet", f"https://my.tt/{path}"),
    ]


def _transfer(request: PaymentRequest) -> str:
    """Return `<owner>?jetton=<master>&amount=<base units>&text=<comment>`; without `jetton` the amount would be nanotons."""
    query = {"jetton": request.token_address, "amount": str(request.units)}
    if request.memo:
        query["text"] = request.memo
    owner = shown_address(request.address) or request.address
    return f"transfer/{owner}?{urlencode(query)}"
