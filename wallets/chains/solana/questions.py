"""Requests to Solana nodes: each function asks one node and checks its answer."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from wallets.chains.base import BlockRef, ChainUnavailableError, ReorgDuringReadError, TokenTransfer
from wallets.chains.rpc.client import Call, Node, RefusedError, ask_all
from wallets.chains.rpc.pool import SURVEY_SECONDS
from wallets.chains.solana import decode
from wallets.chains.solana.changes import NEWEST_VERSION
from wallets.chains.solana.decode import ListedSignature, listed_signatures, refuse

MOST_PAGES: Final = 1_000
"""A million transactions of an account at once: more than real accounts have; limits what a dishonest node can cause."""

FIRST_PAGE: Final = 50
"""The size of the first page. It nearly always reaches the known entries; an old account would fill a page of any size."""

_CLOCK: Final = "SysvarC1ock11111111111111111111111111111111"
# Public nodes allow 40 of one method in ten seconds; smaller batches are accepted without retries.
_BATCH: Final = 25
_STATUSES_AT_ONCE: Final = 256  # the nodes' own limit
_DERIVED: Final = 10_000
# The limit of those providers that state none.
_USUAL_VERSION: Final = 0


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
        """Yield the successful entries above the floor and up to `slot`, oldest first."""
        for entry in reversed(self._entries.values()):
            if entry.succeeded and self._floor < entry.slot <= slot:
                yield entry

    def leave(self, slot: int) -> None:
        """Drop the entries from this slot on: a later reading lists them again."""
        self._entries = {name: entry for name, entry in self._entries.items() if entry.slot < slot}

    def _turn(self, page: list[ListedSignature]) -> None:
        self._pages += 1
        if self._pages >= self._most_pages:
            raise ChainUnavailableError("an account has more transactions than we read")
        self._before, self._last = page[-2].signature, page[-1]
        self._limit = self._page


def ask_head(node: Node, *, commitment: str = "confirmed") -> BlockRef:
    """Ask for the newest slot at a commitment."""
    # The clock account has both the slot and its time, from one moment.
    options = {"commitment": commitment, "encoding": "base64"}
    height, seconds = decode.clock(node.call("getAccountInfo", [_CLOCK, options]))
    return BlockRef(height=height, hash=slot_name(height), parent_hash="", time=seconds)


def ask_slot(node: Node) -> int:
    """Ask for the newest confirmed slot's number, for comparison only."""
    answer = node.call("getSlot", [{"commitment": "confirmed"}], seconds=SURVEY_SECONDS)
    return decode.slot(answer)


def ask_finalized(node: Node) -> int:
    """Ask for the newest slot that cannot be undone."""
    return decode.slot(node.call("getSlot", [{"commitment": "finalized"}]))


def ask_genesis(node: Node) -> str:
    """Ask for the first block's hash."""
    return decode.key(node.call("getGenesisHash", []))


def slot_name(slot: int) -> str:
    """Return a block's name from its slot: transactions do not report their block's hash, and a slot has one confirmed block."""
    return f"slot:{slot}"


# A wallet's token accounts are read again each time, and deriving one takes a search.
@lru_cache(maxsize=_DERIVED)
def token_account(owner: str, *, mint: str, program: str) -> str:
    """Return the address of an owner's associated token account; all are base58, `program` one of the token programs."""
    # Slow to import, and web processes never read a chain.
    from solders.pubkey import Pubkey
    from spl.token.instructions import get_associated_token_address

    return str(get_associated_token_address(*map(Pubkey.from_string, (owner, mint, program))))


def list_whole(node: Node, listings: Sequence[Listing], *, slot: int) -> None:
    """Complete listings, page by page and all together, on a node that has confirmed `slot`."""
    unfinished = list(listings)
    while unfinished:
        calls = [listing.next_page(slot) for listing in unfinished]
        answers = ask_all(node, calls, at_once=_BATCH)
        for listing, answer in zip(unfinished, answers, strict=True):
            listing.take(answer)
        unfinished = [listing for listing in unfinished if not listing.is_whole]


def ask_transactions(node: Node, signatures: Sequence[str], commitment: str) -> Iterator[tuple[str, Any]]:
    """Ask for transactions; yield each signature with the node's answer, a batch at a time."""
    for start in range(0, len(signatures), _BATCH):
        part = signatures[start : start + _BATCH]
        try:
            answers = _ask_versions(node, part, commitment, newest=_USUAL_VERSION)
        except RefusedError:
            # Payers may use a transaction version unknown to us, which must not stop the reading.
            answers = _ask_versions(node, part, commitment, newest=NEWEST_VERSION)
        yield from zip(part, answers, strict=True)


def _ask_versions(node: Node, signatures: Sequence[str], commitment: str, *, newest: int) -> list[Any]:
    options = {"commitment": commitment, "encoding": "json", "maxSupportedTransactionVersion": newest}
    calls: list[Call] = [("getTransaction", [name, options]) for name in signatures]
    return ask_all(node, calls, at_once=_BATCH)


def ask_waiting(node: Node, signature: str) -> bool | None:
    """Return whether an unconfirmed transaction has succeeded so far; None if the node does not know it."""
    answer = node.call("getSignatureStatuses", [[signature]])
    return decode.has_succeeded(answer)


def make_sure_of_history(node: Node, *, since: int) -> None:
    """Raise ChainUnavailableError for a node that lacks slots from `since` on.

    Asked for a listing, it would return an incomplete one without saying so.
    """
    kept_from = decode.slot(node.call("getFirstAvailableBlock", []))
    if kept_from > since:
        raise ChainUnavailableError(f"{node.label} keeps nothing before {kept_from}")


def ask_programs(node: Node, mints: Sequence[str]) -> dict[str, str]:
    """Ask which program keeps each mint."""
    # Only the program is needed, not the mint's data.
    options = {"commitment": "confirmed", "encoding": "base64", "dataSlice": {"offset": 0, "length": 0}}
    calls: list[Call] = [("getAccountInfo", [mint, options]) for mint in mints]
    answers = ask_all(node, calls, at_once=_BATCH)
    return {mint: decode.mint_program(answer) for mint, answer in zip(mints, answers, strict=True)}


def may_know(node: Node, transfers: Sequence[TokenTransfer]) -> list[bool]:
    """Return, for each transfer, whether a node knows it or has a good reason not to.

    A good reason is that it has not reached the transfer's slot, or keeps only newer ones.
    """
    kept_from = decode.slot(node.call("getFirstAvailableBlock", []))
    answers: list[bool] = []
    for start in range(0, len(transfers), _STATUSES_AT_ONCE):
        part = transfers[start : start + _STATUSES_AT_ONCE]
        names = [transfer.tx_hash for transfer in part]
        answer = node.call("getSignatureStatuses", [names, {"searchTransactionHistory": True}])
        reached, slots = decode.known_slots(answer, count=len(part))
        answers += [
            slot is not None or not kept_from <= transfer.block_height <= reached
            for slot, transfer in zip(slots, part, strict=True)
        ]
    return answers
