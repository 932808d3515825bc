"""The rails that carry out authorisations, one for each family of networks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import structlog

from accounts.states import Mode
from gateway.core.times import Clock
from settlements.gas.keys import GasKeyError
from wallets.chains.family import ChainFamily, ChainSpec
from x402.exact.evm.rail import EvmRail
from x402.exact.inputs import Body, SignedPayment, StandardRequest
from x402.exact.solana.rail import SolanaRail
from x402.models import Authorization

log = structlog.get_logger(__name__)

Answer: TypeAlias = dict[str, Any]


class Rail(Protocol):
    """A family's own part of carrying out authorisations; leases and rows are common to all.

    It carries out authorisations of these `schemes`. A waiting request sends nodes this many `questions` at each look.
    `signers_pattern` is the standard's name for all its networks; with `is_always_told` it
    is listed even without accounts of ours. `extensions` are those of the standard that it carries out.
    """

    family: ChainFamily
    schemes: Sequence[str]
    questions: int
    signers_pattern: str
    is_always_told: bool
    extensions: Sequence[str]

    def signers(self) -> Sequence[str]:
        """Return our accounts that carry authorisations out, the same on all its chains."""
        ...

    def prepare(self) -> None:
        """Import what its first payment needs."""
        ...

    def reasons_of(self, scheme: str) -> Mapping[str, str]:
        """Return the standard's codes for this family and a scheme, if they differ from the usual ones."""
        ...

    def kind_extra(self, spec: ChainSpec, scheme: str, mode: Mode, *, merchant_id: int) -> Mapping[str, Any] | None:
        """Return what payers must know about us before they sign; None if the scheme is not carried out on this chain."""
        ...

    def simulated_hash(self, told: str) -> str:
        """Return a fake transaction hash in its chains' form."""
        ...

    def simulates_failure(self, request: StandardRequest) -> bool:
        """Whether a payment with test keys asks to fail."""
        ...

    def read_extra(self, extra: Body) -> Mapping[str, Any]:
        """Return the checked fields of the requirements' `extra`. Raises RefusedPaymentError."""
        ...

    def read_signed(
        self, payload: Body, *, asset: str, pay_to: str, extra: Mapping[str, Any], scheme: str
    ) -> SignedPayment:
        """Return a payer's signed payment, checked. Raises RefusedPaymentError."""
        ...

    def read_extensions(self, extensions: Body, signed: SignedPayment, *, asset: str) -> SignedPayment:
        """Return a signed payment with what the payload's `extensions` add to it. Raises RefusedPaymentError."""
        ...

    def verify(self, request: StandardRequest, *, merchant_id: int, clock: Clock) -> Answer:
        """Return the response whether a merchant's authorisation would settle now. Nothing is sent."""
        ...

    def begin(self, request: StandardRequest, take: Callable[[], Authorization], *, clock: Clock) -> Answer:
        """Check, lease and send an authorisation; return its result, or that it is in progress.

        Raises TakenElsewhereError.
        """
        ...

    def go_on(self, row: Authorization, request: StandardRequest, *, clock: Clock) -> Answer:
        """Check the result of a sent authorisation, and send it again if that may help; the caller holds the row's lease."""
        ...

    def finish(self, row: Authorization, request: StandardRequest, *, clock: Clock) -> None:
        """End an authorisation without a waiting request, once the chain shows its result. Raises ChainError."""
        ...


RAILS: Final[Sequence[Rail]] = (EvmRail(), SolanaRail())
"""The one list of them; each says which family it is for."""

_BY_FAMILY: Final = {rail.family: rail for rail in RAILS}


def rail_of(family: ChainFamily) -> Rail:
    """Return a family's rail. Raises KeyError if it has none."""
    return _BY_FAMILY[family]


def has_rail(family: ChainFamily) -> bool:
    """Whether authorisations are carried out on a family's chains."""
    return family in _BY_FAMILY


def prepare() -> None:
    """Import what the first payments need, for web processes at their start: of families with an account of ours."""
    for rail in RAILS:
        try:
            if rail.signers():
                rail.prepare()
        except GasKeyError as error:
            # Everything else works without it.
            log.error("gas keys cannot be read", error=str(error))
