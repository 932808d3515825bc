"""Payment requests: links into wallets, and transactions for a browser's wallet to sign. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from wallets.chains.specs import ChainSpec, TokenSpec


class NotEnoughError(Exception):
    """The payer's balance is too low. Nothing was sent."""


class TransactionRefusedError(Exception):
    """The network permanently refuses the signed transaction. Nothing was sent."""


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
    """A payment for a wallet to sign, in the form that the chain's wallets accept.

    `raw` are the bytes that we send with the signature; empty if the wallet sends the transaction itself.
    """

    transaction: Any
    raw: bytes = b""


class Cashier(Protocol):
    """Prepares payments for wallets to sign. Not thread-safe."""

    def prepare_payment(self, order: PaymentOrder, *, now: datetime, until: datetime) -> PreparedPayment:
        """Return a payment that is valid up to `until`. Raises ChainError, and NotEnoughError."""
        ...

    def send(self, raw: bytes, signature: bytes) -> None:
        """Send a signed payment; sending it again does no harm. Raises ChainError, TransactionRefusedError."""
        ...


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """What to pay: `units` base units of `token` (a symbol) to `address`.

    `reference` (32 bytes) and `memo` identify the checkout on exact-amount chains and are empty elsewhere; `label` is the
    payee and `message` the purpose.
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
        """Return the token's contract. Raises KeyError if the settings no longer name the token."""
        return self.spec.tokens[self.token].address


@dataclass(frozen=True, slots=True)
class WalletLink:
    """A link that opens a wallet app with the payment filled in, or with the page."""

    name: str
    url: str
