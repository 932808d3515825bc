"""Payment links and QR texts, as the chain's family writes them. Pure.

Amounts are written from integers, never with an exponent: wallets refuse or misread other forms.
"""

from wallets.chains.family import PaymentRequest
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
