"""What a wallet is told by a link or a QR code, for each family of chains. Pure.

Amounts are written from integers, never with an exponent: wallets refuse, or misread, what else they are given.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, urlencode

import base58

from gateway.core.money import format_units
from wallets.addresses import shown_address
from wallets.chains.registry import ChainSpec
from wallets.chains.specs import Family, Network

# Percent-encoded bytes: a QR code grows with each, and phones must still read it.
_LONGEST_LABEL: Final = 32
_LONGEST_MESSAGE: Final = 48
# Trust Wallet's asset ids, the documented ones only: SLIP-44 coin types.
_TRUST_COINS: Final = MappingProxyType({"ethereum": 60, "tron": 195})


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """What to pay: `units` base units of `token` (a symbol) to `address`.

    `reference` (32 bytes) and `memo` name the checkout on exact-amount chains and are empty elsewhere; `label` is who asks
    and `message` for what.
    """

    spec: ChainSpec
    token: str
    address: str
    units: int
    reference: bytes = b""
    memo: str = ""
    label: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class WalletLink:
    """A link that opens a wallet app with the payment filled in, or with the page."""

    name: str
    url: str


def payment_uri(request: PaymentRequest) -> str | None:
    """Return the link that asks any wallet of the chain for this payment.

    None on Tron, which has no standard: `tron:` links name no token, so that a wallet would send its native coin. None also
    where the settings no longer name the token.
    """
    if request.token not in request.spec.tokens:
        return None
    return _URI[request.spec.family](request)


def qr_text(request: PaymentRequest) -> str:
    """Return what the QR code holds: the plain address on EVM chains and Tron, elsewhere the payment link.

    Wallets have sent money to the token's contract after scanning an ERC-681 link.
    """
    plain = request.spec.family in {Family.EVM, Family.TRON}
    uri = None if plain else payment_uri(request)
    return uri or shown_address(request.address)


def wallet_links(request: PaymentRequest, *, page_url: str) -> tuple[WalletLink, ...]:
    """Return the documented links into wallet apps; none on a developer's own chain, which no app knows."""
    if request.spec.is_local or request.token not in request.spec.tokens:
        return ()
    return (*_LINKS[request.spec.family](request, page_url), *_trust(request))


def _contract(request: PaymentRequest) -> str:
    return request.spec.tokens[request.token].address


def _transfer(request: PaymentRequest) -> str:
    target = f"{_contract(request)}@{request.spec.chain_id}/transfer"
    return f"{target}?address={request.address}&uint256={request.units}"


def _erc681(request: PaymentRequest) -> str:
    """`ethereum:<token>@<chain id>/transfer?address=<to>&uint256=<base units>` (ERC-681)."""
    return f"ethereum:{_transfer(request)}"


def _solana_pay(request: PaymentRequest) -> str:
    """`solana:<owner>?amount=<decimal>&spl-token=<mint>&reference=<base58>&label=&message=` (Solana Pay 1.1)."""
    query = {"amount": format_units(request.units), "spl-token": _contract(request)}
    if request.reference:
        query["reference"] = base58.b58encode(request.reference).decode()
    parts = [f"{name}={value}" for name, value in query.items()]
    if label := _capped(request.label, _LONGEST_LABEL):
        parts.append(f"label={label}")
    if message := _capped(request.message, _LONGEST_MESSAGE):
        parts.append(f"message={message}")
    return f"solana:{request.address}?{'&'.join(parts)}"


def _ton_transfer(request: PaymentRequest) -> str:
    """`<owner>?jetton=<master>&amount=<base units>&text=<comment>`; without `jetton` the amount would be nanotons."""
    query = {"jetton": _contract(request), "amount": str(request.units)}
    if request.memo:
        query["text"] = request.memo
    return f"transfer/{shown_address(request.address)}?{urlencode(query)}"


_URI: Final[Mapping[Family, Callable[[PaymentRequest], str | None]]] = MappingProxyType(
    {
        Family.EVM: _erc681,
        Family.SOLANA: _solana_pay,
        Family.TON: lambda request: f"ton://{_ton_transfer(request)}",
        Family.TRON: lambda request: None,
    }
)


def _evm_links(request: PaymentRequest, page_url: str) -> list[WalletLink]:
    return [
        WalletLink("MetaMask", f"https://link.metamask.io/send/{_transfer(request)}")
    ]


def _solana_links(request: PaymentRequest, page_url: str) -> list[WalletLink]:
    return [WalletLink("Phantom", _solana_pay(request))]


def _ton_links(request: PaymentRequest, page_url: str) -> list[WalletLink]:
    path = _ton_transfer(request)
    return [
        WalletLink("Tonkeeper", f"https://app.tonkeeper.com/{path}"),
        WalletLink("MyTonWallet", f"https://my.tt/{path}"),
    ]


def _tron_links(request: PaymentRequest, page_url: str) -> list[WalletLink]:
    """TronLink takes no payment by link; it opens the page in its own browser."""
    call = {
        "url": page_url,
        "action": "open",
        "protocol": "tronlink",
        "version": "1.0",
    }
    param = quote(json.dumps(call, separators=(",", ":")), safe="")
    return [WalletLink("TronLink", f"tronlinkoutside://pull.activity?param={param}")]


_LINKS: Final[Mapping[Family, Callable[[PaymentRequest, str], list[WalletLink]]]] = (
    MappingProxyType(
        {
            Family.EVM: _evm_links,
            Family.SOLANA: _solana_links,
            Family.TON: _ton_links,
            Family.TRON: _tron_links,
        }
    )
)


def _trust(request: PaymentRequest) -> list[WalletLink]:
    coin = _TRUST_COINS.get(request.spec.name)
    if coin is None or request.spec.network is not Network.MAINNET:
        return []
    query = {
        "asset": f"c{coin}_t{_contract(request)}",
        "address": request.address,
        "amount": format_units(request.units),
    }
    link = f"https://link.trustwallet.com/send?{urlencode(query)}"
    return [WalletLink("Trust Wallet", link)]


def _capped(text: str, most: int) -> str:
    """Percent-encode as much of `text` as fits, never half a character."""
    encoded = ""
    for character in text:
        piece = quote(character, safe="", errors="ignore")
        if len(encoded) + len(piece) > most:
            break
        encoded += piece
    return encoded
