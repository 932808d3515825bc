"""Validated requests in the standard's form, and where a chain carried them out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from wallets.chains.family import ChainSpec
from x402.inputs import SCHEME, UPTO

PERMIT2_PREFIX: Final = "permit2:"
"""The prefix of a Permit2 authorisation's nonce."""

Body = Mapping[str, Any]
"""A JSON object as received."""


@dataclass(frozen=True, slots=True)
class OwnPermit:
    """A token's own permit (EIP-2612): Permit2 may move the signed amount. `signature` is r, s and v.

    It is good until `deadline` (Unix time), which is not before the payment's own end.
    """

    deadline: int
    signature: bytes


@dataclass(frozen=True, slots=True)
class SignedPayment:
    """A payer's signed payment: `units` of the token to `recipient`, between two Unix times.

    Addresses are in the chain's own spelling (EIP-55, base58). `nonce` is what the chain refuses to see twice: of EIP-3009
    0x and 64 digits, of Permit2 `permit2:` and a number, on Solana the hash of the transaction's message. `payload` is the
    standard's own form of it, with checked values only. In scheme `upto`, `units` are the maximum, and only the account
    `facilitator` may carry it out; else it is "". `own_permit` is there if a Permit2 payment brings what allows Permit2.
    """

    payer: str
    recipient: str
    units: int
    valid_after: int
    valid_before: int
    nonce: str
    payload: Mapping[str, Any]
    facilitator: str = ""
    own_permit: OwnPermit | None = None

    @property
    def is_permit2(self) -> bool:
        """Whether the authorisation is one of Permit2's."""
        return self.nonce.startswith(PERMIT2_PREFIX)


@dataclass(frozen=True, slots=True)
class StandardRequest:
    """A body of `/verify` or `/settle` with `x402Version`.

    `network` is spelled as the request spells it. `token` is our symbol of `asset` (EIP-55), `units` are what the resource
    costs, `extra` is the token's EIP-712 domain as the resource server knows it. In scheme `upto`, `units` are the maximum in
    `/verify`, and in `/settle` what is charged. `identifier` is a digest of the payer's own id of this payment, None without one.
    """

    version: int
    network: str
    spec: ChainSpec
    token: str
    asset: str
    pay_to: str
    units: int
    resource: str
    extra: Mapping[str, Any]
    signed: SignedPayment
    # The standard's codes for the chain's family, if they differ from the usual ones.
    reasons: Mapping[str, str]
    scheme: str = SCHEME
    identifier: bytes | None = None

    @property
    def is_upto(self) -> bool:
        """Whether the payer signed a maximum."""
        return self.scheme == UPTO

    @property
    def most_units(self) -> int | None:
        """Return the maximum that the payer signed; None in scheme `exact`."""
        return self.signed.units if self.is_upto else None

    def spoken(self, reason: str) -> str:
        """Return a code as the standard names it for the chain's family and the scheme."""
        return self.reasons.get(reason, reason)


@dataclass(frozen=True, slots=True)
class Offer:
    """One of the requirements that a seller is about to ask for. `texts` are the standard's fields, spelled as they came."""

    spec: ChainSpec
    pay_to: str
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Executed:
    """Where an authorisation was carried out: `position` is the transfer's, as watchers count it."""

    tx_hash: str
    position: int
    height: int
