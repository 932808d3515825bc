"""The ways in which authorisations are carried out, one for each family of networks."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

from wallets.chains.specs import Family
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

    Whoever waits for a transaction asks nodes so many `questions` at each look.
    """

    questions: int

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


_RAILS: Final = MappingProxyType[Family, Rail](
    {Family.EVM: EvmRail(), Family.SOLANA: SolanaRail()}
)


def rail_of(family: Family) -> Rail:
    """Return a family's way. Raises KeyError where authorisations are not carried out on it."""
    return _RAILS[family]
