"""Payment links for Solana wallets. Pure."""

from typing import Final
from urllib.parse import quote

import base58

from gateway.core.money import format_units
from wallets.chains.payments import PaymentRequest, WalletLink

# Percent-encoded bytes: a QR code grows with each, and phones must still read it.
_LONGEST_LABEL: Final = 32
_LONGEST_MESSAGE: Final = 48


def payment_uri(request: PaymentRequest) -> str:
    """Return `solana:<owner>?amount=<decimal>&spl-token=<mint>&reference=<base58>&label=&message=` (Solana Pay 1.1)."""
    query = {"amount": format_units(request.units), "spl-token": request.token_address}
    if request.reference:
        query["reference"] = base58.b58encode(request.reference).decode()
    parts = [f"{name}={value}" for name, value in query.items()]
    if label := _capped(request.label, _LONGEST_LABEL):
        parts.append(f"label={label}")
    if message := _capped(request.message, _LONGEST_MESSAGE):
        parts.append(f"message={message}")
    return f"solana:{request.address}?{'&'.join(parts)}"


def wallet_links(request: PaymentRequest) -> list[WalletLink]:
    """Return the link into Phantom."""
    return [WalletLink("Phantom", payment_uri(request))]


def _capped(text: str, most: int) -> str:
    """Percent-encode as much of `text` as fits, never half a character."""
    encoded = ""
    for character in text:
        piece = quote(character, safe="", errors="ignore")
        if len(encoded) + len(piece) > most:
            break
        encoded += piece
    return encoded
