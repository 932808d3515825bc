"""Payment links and QR texts, as the chain's family writes them. Pure.

Amounts are written from integers, never with an exponent: wallets refuse or misread other forms.
"""

from urllib.parse import urlencode

from gateway.core.money import format_units
from wallets.chains.family import PaymentRequest, WalletLink
from wallets.networks import shown_address


def payment_uri(request: PaymentRequest) -> str | None:
    """Return the link that asks any wallet of the chain for this payment, or None.

    None on Tron, which has no standard: `tron:` links name no token, so that a wallet would send its native coin. None also
    where the settings no longer name the token.
    """
    if request.token not in request.spec.tokens:
        return None
    return request.spec.family.payment_uri(request)


def qr_text(request: PaymentRequest) -> str:
    """Return the QR code's text: the plain address on EVM chains and Tron, elsewhere the payment link.

    Wallets have sent money to the token's contract after scanning an ERC-681 link.
    """
    uri = None if request.spec.family.qr_is_address else payment_uri(request)
    return uri or shown_address(request.address)


def wallet_links(request: PaymentRequest, *, page_url: str) -> tuple[WalletLink, ...]:
    """Return the documented links into wallet apps; none on a developer's own chain, which apps do not know."""
    if request.spec.is_local or request.token not in request.spec.tokens:
        return ()
    return (*request.spec.family.wallet_links(request, page_url=page_url), *_trust(request))


def _trust(request: PaymentRequest) -> list[WalletLink]:
    """Return Trust Wallet's link, which takes the chain by its number."""
    if request.spec.slip44 is None:
        return []
    query = {
        "asset": f"c{request.spec.slip44}_t{request.token_address}",
        "address": request.address,
        "amount": format_units(request.units),
    }
    link = f"https://link.trustwallet.com/send?{urlencode(query)}"
    return [WalletLink("Trust Wallet", link)]
