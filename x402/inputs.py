"""What resource servers ask of the facilitator, read and checked already."""

from dataclasses import dataclass
from typing import Final

SCHEME: Final = "exact"
"""The one scheme there is: the amount that is asked for is the amount that is paid."""

FAILING: Final = "fail_"
"""In test mode a hash that begins so, with a reason after it, is refused for that reason."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A payment that a machine says it made. `tx_hash` is in its chain's own spelling, addresses are in canonical form.

    `units` are base units. `signature` is the payer's, over `x402.byhash.signatures.message_of`; `public_key` comes with it
    where an address does not tell the key (TON). Empty texts where there is none.
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
    """What the resource costs. `units` are base units, `resource` is whatever the merchant calls it."""

    chain: str
    token: str
    units: int
    resource: str


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """A body of `POST /x402/verify` in the specification's form.

    `digest` is SHA-256 over all that matters of it, so that a repetition is known.
    """

    proof: Proof
    requirements: Requirements
    digest: bytes
