"""Messages to owners after a receiving wallet was set or requested."""

from django.utils import timezone

from wallets.chains.specs import ChainSpec
from wallets.models import ReceivingWallet, WalletChange
from wallets.receiving.claims import is_awaited
from wallets.states import ClaimKind


def told_of(answer: ReceivingWallet | WalletChange, spec: ChainSpec) -> str:
    """Return the message about the result of a request."""
    if isinstance(answer, WalletChange) and answer.is_open:
        when = f"on {answer.effective_at:%-d %b %Y, %H:%M} UTC"
        if waits_for_others(answer):
            when = "once earlier payments to it have run out"
        return f"The new {spec.title} wallet takes effect {when}. All owners were told by mail."
    if answer.purpose == ClaimKind.X402:
        return f"Machines pay this wallet on {spec.title} now. All owners were told by mail."
    return f"You receive on {spec.title} at {answer.address} now. All owners were told by mail."


def waits_for_others(change: WalletChange) -> bool:
    """Whether an open change was proven and waits for payments to others."""
    return change.proof_id is not None and is_awaited(
        change.merchant, chain=change.chain, address=change.address, now=timezone.now()
    )
