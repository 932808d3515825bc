"""How a payment is asked for: links into wallets, and transactions for a browser's wallet to sign. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from wallets.chains.specs import ChainSpec, TokenSpec


class NotEnoughError(Exception):
    """The payer does not hold the amount. Nothing was sent."""


class TransactionRefusedError(Exception):
    """The network will not take the signed transaction, now or later. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class PaymentOrder:
    """Pay `units` base units of a token, from a payer to a recipient; both in the chain's canonical form.

    `reference` are the 32 bytes by which Solana Pay names a payment.
    """

    payer: str
    recipient: str
    token: TokenSpec
    units: int
    reference: bytes = b""


@dataclass(frozen=True, slots=True)
class PreparedPayment:
    """What a wallet is given to sign, as its chain's wallets take it.

    `raw` are the bytes that we send together with the signature; empty where the wallet sends by itself.
    """

    transaction: Any
    raw: bytes = b""


class Cashier(Protocol):
    """Writes payments for wallets to sign, for one thread at a time."""

    def prepare_payment(
        self, order: PaymentOrder, *, now: datetime, until: datetime
    ) -> PreparedPayment:
        """Return a payment of no use after `until`. Raises ChainError, and NotEnoughError."""
        ...

    def send(self, raw: bytes, signature: bytes) -> None:
        """Send what was signed; sending it again does no harm. Raises ChainError, TransactionRefusedError."""
        ...


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

    @property
    def token_address(self) -> str:
        """The token's contract. Raises KeyError where the settings no longer name the token."""
        return self.spec.tokens[self.token].address


@dataclass(frozen=True, slots=True)
class WalletLink:
    """A link that opens a wallet app with the payment filled in, or with the page."""

    name: str
    url: str
