"""The three totals shown everywhere: received, still in forwarders, settled. In base units; they always add up."""

from collections.abc import Sequence
from dataclasses import dataclass

from settlements.models import Hold
from wallets.models import DepositBalance, DepositTotal
from wallets.networks import is_accepted
from wallets.states import ClaimKind


@dataclass(frozen=True, slots=True)
class Figures:
    """A merchant's forwarders' final received amount of a token on a chain, and the part that reached the wallet."""

    purpose: ClaimKind
    chain: str
    token: str
    received: int
    settled: int

    @property
    def in_forwarders(self) -> int:
        """Return what waits in forwarders. Never negative: unwatched money may have been flushed too."""
        return max(self.received - self.settled, 0)


def figures_of(merchant_id: int, *, purpose: ClaimKind | None = None) -> Sequence[Figures]:
    """Return a merchant's totals, of one purpose or of both, by purpose, chain and token."""
    rows = DepositTotal.objects.filter(merchant=merchant_id)
    if purpose is not None:
        rows = rows.filter(purpose=purpose)
    return [
        Figures(ClaimKind(row.purpose), row.chain, row.token, received=int(row.received), settled=int(row.flushed))
        for row in rows.order_by("purpose", "chain", "token")
        # Others may be worth anything: the inbox names them.
        if is_accepted(row.chain, row.token)
    ]


def held_units(merchant_id: int) -> int:
    """Return the amount in forwarders that is held in escrow."""
    nonces = Hold.objects.filter(merchant=merchant_id, released_at=None).values("nonce")
    rows = DepositBalance.objects.filter(merchant=merchant_id, deposit__nonce__in=nonces).values_list(
        "chain", "token", "received", "flushed"
    )
    return sum(max(int(received - flushed), 0) for chain, token, received, flushed in rows if is_accepted(chain, token))
