"""Lists the transactions of one token account, page by page, newest first."""

from collections.abc import Iterator
from typing import Any, Final

from wallets.chains.base import ChainUnavailableError, ReorgDuringReadError
from wallets.chains.rpc.client import Call
from wallets.chains.solana.decode import ListedSignature, listed_signatures, refuse

MOST_PAGES: Final = 1_000
"""A million transactions of an account at once: more than real accounts have; limits what a dishonest node can cause."""

FIRST_PAGE: Final = 50
"""The size of the first page: it nearly always reaches the known ones, and a page of an old account is always full."""


class Listing:
    """A node's listing of `token_account`, down to but not including the slot `floor`.

    Each further page begins with the last entry of the one before: a node that does not know this entry (perhaps another
    backend) would list nothing, and that must not look like the end.
    """

    def __init__(self, token_account: str, *, floor: int, page: int, pages: int = MOST_PAGES) -> None:
        """Prepare the listing; `page` is the maximum of entries per request, at least 2, `pages` the maximum of requests."""
        self.token_account = token_account
        self.is_whole = False
        self._floor = floor
        self._page = page
        self._limit = min(page, FIRST_PAGE)
        self._pages = 0
        self._most_pages = pages
        self._entries: dict[str, ListedSignature] = {}
        self._last: ListedSignature | None = None
        self._before: str | None = None

    def next_page(self, slot: int) -> Call:
        """Return the request for the next page, for a node that has confirmed `slot`."""
        options: dict[str, Any] = {"commitment": "confirmed", "minContextSlot": slot, "limit": self._limit}
        if self._before is not None:
            options["before"] = self._before
        return "getSignaturesForAddress", [self.token_account, options]

    def take(self, answer: Any) -> None:
        """Add a page. Raises MalformedAnswerError, ReorgDuringReadError, ChainUnavailableError."""
        page = listed_signatures(answer, most=self._limit)
        if self._last is not None and page[:1] != [self._last]:
            raise ReorgDuringReadError("the pages of a listing do not join")
        added = page if self._last is None else page[1:]
        if any(entry.signature in self._entries for entry in added):
            refuse("a listing names a transaction twice")
        self._entries |= {entry.signature: entry for entry in added}
        self.is_whole = len(page) < self._limit or page[-1].slot <= self._floor
        if not self.is_whole:
            self._turn(page)

    def succeeded_until(self, slot: int) -> Iterator[ListedSignature]:
        """Yield the successful ones above the floor and up to `slot`, oldest first."""
        for entry in reversed(self._entries.values()):
            if entry.succeeded and self._floor < entry.slot <= slot:
                yield entry

    def leave(self, slot: int) -> None:
        """Leave this slot and later ones to a later reading."""
        self._entries = {name: entry for name, entry in self._entries.items() if entry.slot < slot}

    def _turn(self, page: list[ListedSignature]) -> None:
        self._pages += 1
        if self._pages >= self._most_pages:
            raise ChainUnavailableError("an account has more transactions than we read")
        self._before, self._last = page[-2].signature, page[-1]
        self._limit = self._page
