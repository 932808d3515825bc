"""Listings of an account's transactions that cannot be, or never end, are refused."""

from itertools import count
from typing import Any

import pytest
from solders.signature import Signature

from tests.wallets.chains.solana.test_decode import ACCOUNT, SIGNATURE
from wallets.chains.base import ChainUnavailableError, MalformedAnswerError
from wallets.chains.solana.questions import MOST_PAGES, Listing

HUGE = 10**400


def listed(*slots: int, **fields: Any) -> list[dict[str, Any]]:
    """A listing, with a signature of its own for each slot named."""
    letters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
    return [{"signature": letters[place] * 87, "slot": slot, "err": None, **fields} for place, slot in enumerate(slots)]


LISTINGS: dict[str, Any] = {
    "null": None,
    "object": {},
    "strings": ["x"],
    "nested": [[]],
    "no signature": [{"slot": 5, "err": None}],
    "no slot": [{"signature": SIGNATURE, "err": None}],
    "no err": [{"signature": SIGNATURE, "slot": 5}],
    "short signature": listed(5, signature="abc"),
    "long signature": listed(5, signature="z" * 88),
    "signature is bytes": listed(5, signature=[1, 2]),
    "negative slot": listed(-5),
    "huge slot": listed(HUGE),
    "slot is true": listed(True),
    "out of order": listed(5, 6),
    "twice": [*listed(5), *listed(5)],
    "too many": listed(9, 8, 7, 6),
}


@pytest.mark.parametrize("answer", LISTINGS.values(), ids=LISTINGS)
def test_a_listing_that_cannot_be_is_refused(answer: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        Listing(ACCOUNT, floor=0, page=3).take(answer)


def test_a_listing_that_never_ends_is_given_up() -> None:
    names = (str(Signature(n.to_bytes(64, "big"))) for n in count(1))
    listing = Listing(ACCOUNT, floor=0, page=2)
    page = [{"signature": next(names), "slot": 5, "err": None} for _ in range(2)]
    for _ in range(MOST_PAGES - 1):
        listing.take(page)
        page = [page[-1], {"signature": next(names), "slot": 5, "err": None}]
    with pytest.raises(ChainUnavailableError, match="more transactions"):
        listing.take(page)
