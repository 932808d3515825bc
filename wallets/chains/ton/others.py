"""Lists transfers of recorded jettons that no checkout accepts, in one listing for all of them."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

import structlog

from wallets.chains.base import Account, ChainUnavailableError, MalformedAnswerError, RangeTooLargeError
from wallets.chains.intervals import SECONDS, Intervals
from wallets.chains.rpc.client import Node
from wallets.chains.specs import ChainSpec
from wallets.chains.ton.decode import Listed
from wallets.chains.ton.progress import listed_since
from wallets.chains.ton.questions import list_others

log = structlog.get_logger(__name__)

# So far that one look may fail.
_BACK: Final = 3 * int(SECONDS)
_FAILURES: Final = (ChainUnavailableError, MalformedAnswerError, RangeTooLargeError)


class OtherJettons:
    """Asks about owners' other jettons at intervals."""

    def __init__(self, spec: ChainSpec, masters: Collection[bytes], *, page: int, clock: Callable[[], float]) -> None:
        """Keep the `masters` of the jettons to list."""
        self._masters = masters
        self._page = page
        self._intervals = Intervals(spec, clock=clock)

    def listed(self, node: Node, accounts: Sequence[Account]) -> list[Listed]:
        """Return transfers of accounts that are due, thrice as long back as an interval; none where they cannot be listed."""
        due = self._intervals.due(accounts) if self._masters else []
        since = {one.key: max(listed_since(one) - _BACK, 0) for one in due}
        if not since:
            return []
        try:
            found = list_others(node, since, masters=self._masters, page=self._page)
        except _FAILURES as error:
            # Strangers' jettons may fill this listing, and must delay no payment; a node that is away fails elsewhere.
            log.warning("other tokens not listed", node=node.label, error=str(error))
            found = []
        self._intervals.note(since)
        return found
