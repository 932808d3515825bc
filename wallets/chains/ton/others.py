"""Lists transfers of recorded jettons that no checkout accepts, in one listing for all of them."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from wallets.chains.base import (
    Account,
    ChainUnavailableError,
    RangeTooLargeError,
)
from wallets.chains.intervals import SECONDS, Intervals
from wallets.chains.rpc.client import Node
from wallets.chains.specs import ChainSpec
from wallets.chains.ton.decode import Listed
from wallets.chains.ton.progress import listed_since
from wallets.chains.ton.questions import list_others

_BACK: Final = 2 * int(SECONDS)


class OtherJettons:
    """Asks about owners' other jettons at intervals."""

    def __init__(
        self,
        spec: ChainSpec,
        masters: Collection[bytes],
        *,
        page: int,
        clock: Callable[[], float],
    ) -> None:
        """Keep the `masters` of the jettons to list."""
        self._masters = masters
        self._page = page
        self._intervals = Intervals(spec, clock=clock)

    def listed(self, node: Node, accounts: Sequence[Account]) -> list[Listed]:
        """Return transfers of accounts that are due, twice as long back as an interval."""
        due = self._intervals.due(accounts) if self._masters else []
        since = {one.key: max(listed_since(one) - _BACK, 0) for one in due}
        if not since:
            return []
        try:
            found = list_others(node, since, masters=self._masters, page=self._page)
        except (ChainUnavailableError, RangeTooLargeError):
            # Strangers' jettons may fill this listing, and must delay no payment; a node that is away fails elsewhere.
            return []
        self._intervals.note(since)
        return found
