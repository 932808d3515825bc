"""Validated requests of the specification's protocol."""

from dataclasses import dataclass
from typing import Final

SCHEME: Final = "exact"
"""The requested amount is the paid amount."""

UPTO: Final = "upto"
"""The payer signs a maximum, and the resource server names the amount when it settles. EVM chains, version 2."""

FAILING: Final = "fail_"
"""The prefix of a test hash that names the reason for its refusal."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A machine's claimed payment. `tx_hash` is in its chain's own spelling, addresses are in canonical form.

    `units` are base units. `signature` is the payer's, over `x402.byhash.forms.message_of`; `public_key` comes with it
    if an address does not reveal the key (TON). Missing ones are "".
    """

    tx_hash: str
    chain: str
    token: str
    units: int
    payer: str
    pay_to: str
    signature: str = ""
    public_key: str = ""


@dataclass(frozen=True, slots=True)
class Requirements:
    """The price of the resource. `units` are base units, `resource` is the merchant's own name for it."""

    chain: str
    token: str
    units: int
    resource: str


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """A body of `POST /x402/verify` in the specification's form.

    `digest` is SHA-256 over its significant fields, which identifies a repetition.
    """

    proof: Proof
    requirements: Requirements
    digest: bytes
