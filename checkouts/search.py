"""Finding checkouts and transfers by what people paste: an id, a link, their own reference, a transaction, an address.

Each kind of text is one look into an index, however many rows there are. A buyer's e-mail address is none of them.
"""

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from django.db.models import Q, QuerySet

from accounts.team.seats import Seat
from checkouts.models import UNKEYED_REFERENCE, Checkout, Payment
from wallets.chains.base import AddressError
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress, ReceivingWallet, Transfer
from wallets.networks import address_on, chains
from wallets.transfers.hashes import (
    UnreadableHashError,
    spellings,
)

LONGEST_TEXT: Final = 1_000
MOST_FOUND: Final = 100
"""The newest are shown of what more checkouts share, such as a receiving address."""

_EVM_ADDRESS: Final = re.compile(r"0[xX][0-9a-fA-F]{40}", re.ASCII)


def searchable(text: str) -> str:
    """Return a text as it is looked up; empty for what no object of ours is called."""
    text = text.strip()
    return "" if len(text) > LONGEST_TEXT or "\x00" in text else text


def matching_keys(seat: Seat, text: str) -> list[int]:
    """Return the primary keys of the merchant's checkouts, in the mode, that a text names: the newest, MOST_FOUND at most."""
    text = searchable(text)
    if not text:
        return []
    mine = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    return _newest_of(_looks(seat, mine, text))


def matching_transfers(seat: Seat, text: str) -> list[int]:
    """Return the primary keys of the merchant's transfers, in the mode, that a text names: the newest, MOST_FOUND at most.

    It names them by their id, their transaction, or the address of either side.
    """
    text = searchable(text)
    if not text:
        return []
    mine = Transfer.objects.filter(merchant=seat.merchant, mode=seat.mode)
    return _newest_of(_transfer_looks(seat, mine, text))


def _newest_of(looks: Iterator[QuerySet[Any]]) -> list[int]:
    keys = {key for found in looks for key in _newest(found)}
    return sorted(keys, reverse=True)[:MOST_FOUND]


def _newest(found: QuerySet[Any]) -> list[int]:
    return list(found.order_by("-pk").values_list("pk", flat=True)[:MOST_FOUND])


def _looks(
    seat: Seat, mine: QuerySet[Checkout], text: str
) -> Iterator[QuerySet[Checkout]]:
    yield mine.filter(public_id=text)
    yield mine.filter(code=code_in(text))
    yield mine.filter(creation_ref=text, order_ref=text)
    yield mine.filter(UNKEYED_REFERENCE, order_ref=text)
    # An address that nothing was paid to yet names its checkout all the same.
    nonces = deposits_at(seat, text).values_list("nonce", flat=True)
    if found := [bytes(nonce) for nonce in nonces]:
        yield mine.filter(deposit_nonce__in=found)
    if transfers := matching_transfers(seat, text):
        # Keys first: a list of them is looked up in an index, where a join may be planned as a scan.
        paid = Payment.objects.filter(transfer__in=transfers)
        yield mine.filter(pk__in=list(paid.values_list("checkout_id", flat=True)))


def _transfer_looks(
    seat: Seat, mine: QuerySet[Transfer], text: str
) -> Iterator[QuerySet[Transfer]]:
    yield mine.filter(public_id=text)
    if transactions := transactions_named(text):
        yield mine.filter(transactions)
    addresses = _addresses(text)
    if not addresses:
        return
    yield mine.filter(sender__in=addresses)
    if deposits := list(deposits_at(seat, text).values_list("pk", flat=True)):
        yield mine.filter(deposit__in=deposits)
    wallets = ReceivingWallet.objects.filter(merchant=seat.merchant)
    at = wallets.filter(address__in=addresses)
    if found := list(at.values_list("pk", flat=True)):
        yield mine.filter(wallet__in=found)


def deposits_at(seat: Seat, text: str) -> QuerySet[DepositAddress]:
    """Return the merchant's deposit address that a text is; none for anything else."""
    if not _EVM_ADDRESS.fullmatch(text):
        return DepositAddress.objects.none()
    key = bytes.fromhex(text[2:])
    return DepositAddress.objects.filter(
        key=key, merchant=seat.merchant, mode=seat.mode
    )


def code_in(text: str) -> str:
    """Return the last part of a page's address; the text itself where it is none."""
    if "/" not in text:
        return text
    try:
        return urlsplit(text).path.rstrip("/").rpartition("/")[2]
    except ValueError:
        return text


def transactions_named(text: str) -> Q:
    """Return the condition of rows with `chain` and `tx_hash` for the transaction a text names; empty for what is no hash."""
    found = Q()
    for chain, tx_hash in spelled(text).items():
        found |= Q(chain=chain, tx_hash=tx_hash)
    return found


def spelled(text: str) -> dict[str, str]:
    """Return by chain how it would write the transaction that a text names; empty for what is no hash."""
    try:
        return spellings(text)
    except UnreadableHashError:
        return {}


def _addresses(text: str) -> set[str]:
    """Return how the chains that could have an address write it; empty for what is none."""
    if _EVM_ADDRESS.fullmatch(text):
        # Whoever types or copies it may lose its capitals, which are a checksum.
        return {checksum(bytes.fromhex(text[2:]))}
    found = set()
    for spec in chains().values():
        try:
            found.add(address_on(spec, text))
        except AddressError:
            continue
    return found
