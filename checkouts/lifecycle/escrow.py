"""Escrow: chains that can hold money in a forwarder, and releases."""

from collections.abc import Iterable, Sequence

from checkouts.rows import CheckoutFacts
from settlements.sweeps.escrow import holds_of
from wallets.selectors import Offerable


def holdable(chains: Iterable[Offerable]) -> list[Offerable]:
    """Return the chains with forwarders, where money can be held; on others it reaches the merchant at once."""
    return [chain for chain in chains if chain.destination is not None]


def releases_of(checkouts: Sequence[CheckoutFacts]) -> dict[int, str]:
    """Return, for each checkout in escrow by key, its `ReleasedBy`, or empty if not released.

    Without checkouts in escrow there is no query.
    """
    subjects = {one.id: one.hold_subject for one in checkouts if one.escrow}
    if not subjects:
        return {}
    holds = holds_of(set(subjects.values()))
    return {key: holds[subject].released_by for key, subject in subjects.items()}
