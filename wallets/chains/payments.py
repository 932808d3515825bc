"""What a payer's own wallet is asked to sign on chains whose transactions a page cannot write by itself. Pure."""

from dataclasses import dataclass

from wallets.chains.registry import TokenSpec


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
