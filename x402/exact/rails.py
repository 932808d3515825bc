"""The ways in which authorisations are carried out, one for each family of networks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from accounts.states import Mode
from wallets.chains.family import ChainFamily
from x402.exact.evm.rail import EvmRail
from x402.exact.inputs import (
    Body,
    Clock,
    Signed,
    StandardRequest,
)
from x402.exact.solana.rail import SolanaRail
from x402.models import Authorization

Answer: TypeAlias = dict[str, Any]


class Rail(Protocol):
    """What a family does in its own way; whose turn it is with an authorisation is the same for all.

    Whoever waits for a transaction asks nodes so many `questions` at each look. `reasons` are the standard's codes for this
    family, where they are not the usual ones. `signers_pattern` is what the standard calls all its networks, and is told
    without accounts of ours as well where `is_always_told`.
    """

    family: ChainFamily
    questions: int
    reasons: Mapping[str, str]
    signers_pattern: str
    is_always_told: bool

    def signers(self) -> Sequence[str]:
        """Return the accounts of ours that carry authorisations out, the same on all its chains."""
        ...

    def kind_extra(self, mode: Mode, *, merchant_id: int) -> Mapping[str, Any]:
        """Return what payers must know of us before they sign."""
        ...

    def simulated_hash(self, told: str) -> str:
        """Return what looks like a transaction's hash on its chains."""
        ...

    def simulates_failure(self, request: StandardRequest) -> bool:
        """Whether a payment with test keys asks to fail."""
        ...

    def read_extra(self, extra: Body) -> Mapping[str, Any]:
        """Return what counts of the requirements' `extra`, checked. Raises RefusedPaymentError."""
        ...

    def read_signed(
        self, payload: Body, *, asset: str, pay_to: str, extra: Mapping[str, Any]
    ) -> Signed:
        """Return what a payer signed, checked. Raises RefusedPaymentError."""
        ...

    def verify(self, request: StandardRequest, *, clock: Clock) -> Answer:
        """Return the answer whether an authorisation would settle now. Nothing is sent."""
        ...

    def begin(
        self,
        request: StandardRequest,
        take: Callable[[], Authorization],
        *,
        clock: Clock,
    ) -> Answer:
        """Judge an authorisation, take it in hand and send it; return what became of it, or that it is on its way.

        Raises TakenElsewhereError.
        """
        ...

    def go_on(
        self, row: Authorization, request: StandardRequest, *, clock: Clock
    ) -> Answer:
        """Look what became of what was sent, and send it again where that may help; the caller has the row in hand."""
        ...

    def finish(
        self, row: Authorization, request: StandardRequest, *, clock: Clock
    ) -> None:
        """End an authorisation that nobody asks about, where the chain says how it ended. Raises ChainError."""
        ...


RAILS: Final[Sequence[Rail]] = (EvmRail(), SolanaRail())
"""The one list of them; each says which family it is for."""

_BY_FAMILY: Final = {rail.family: rail for rail in RAILS}


def rail_of(family: ChainFamily) -> Rail:
    """Return a family's way. Raises KeyError where authorisations are not carried out on it."""
    return _BY_FAMILY[family]


def has_rail(family: ChainFamily) -> bool:
    """Whether authorisations are carried out on a family's chains."""
    return family in _BY_FAMILY
