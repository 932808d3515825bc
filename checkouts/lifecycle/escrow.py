"""Which money of checkouts stays in its forwarder until it is released, and whether it was."""

from collections.abc import Iterable, Sequence

from checkouts.rows import CheckoutFacts
from settlements.sweeps.escrow import holds_of
from wallets.selectors import Offerable


def holdable(chains: Iterable[Offerable]) -> list[Offerable]:
    """Return the chains on which money waits in a forwarder; on all others it is the merchant's at once."""
    return [chain for chain in chains if chain.destination is not None]


def releases_of(checkouts: Sequence[CheckoutFacts]) -> dict[int, str]:
    """Return, by the key of each checkout in escrow, who released its money: a `ReleasedBy`, or empty for nobody yet.

    Nothing is asked where none is in escrow.
    """
    subjects = {one.id: one.hold_subject for one in checkouts if one.escrow}
    if not subjects:
        return {}
    holds = holds_of(set(subjects.values()))
    return {key: holds[subject].released_by for key, subject in subjects.items()}
