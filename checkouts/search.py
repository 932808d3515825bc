"""Search for checkouts and transfers by an id, a receipt's number, a link, a reference, a transaction or an address.

Each kind of text is one index look-up, however many rows there are. Buyers' e-mail addresses are not searched.
"""

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from django.db.models import Q, QuerySet

from accounts.team.access import Seat
from checkouts.models import UNKEYED_REFERENCE, Checkout, Payment
from wallets.chains.base import AddressError
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress, ReceivingWallet, Transfer
from wallets.networks import address_on, chains
from wallets.transfers.hashes import UnreadableHashError, spellings

LONGEST_TEXT: Final = 1_000
MOST_FOUND: Final = 100
"""Only the newest are shown if more checkouts match, for example by a receiving address."""

# A receipt's short number: `CheckoutPage.receipt_number`.
_NUMBER: Final = re.compile(r"([0-9a-hjkmnp-tv-z]{5})-?([0-9a-hjkmnp-tv-z]{5})", re.ASCII | re.IGNORECASE)
_EVM_ADDRESS: Final = re.compile(r"0[xX][0-9a-fA-F]{40}", re.ASCII)


def searchable(text: str) -> str:
    """Return a text normalised for the search; empty if it cannot match any object."""
    text = text.strip()
    return "" if len(text) > LONGEST_TEXT or "\x00" in text else text


def matching_keys(seat: Seat, text: str) -> list[int]:
    """Return the primary keys of the merchant's checkouts that match a text, in the mode: the newest MOST_FOUND."""
    text = searchable(text)
    if not text:
        return []
    mine = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    return _newest_of(_looks(seat, mine, text))


def matching_transfers(seat: Seat, text: str) -> list[int]:
    """Return the primary keys of the merchant's transfers that match a text, in the mode: the newest MOST_FOUND.

    The text is an id, a transaction, or the sender's or recipient's address.
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


def _looks(seat: Seat, mine: QuerySet[Checkout], text: str) -> Iterator[QuerySet[Checkout]]:
    yield mine.filter(public_id=text)
    if number := _NUMBER.fullmatch(text):
        yield mine.filter(public_id__startswith=f"chk_{seat.mode}_{number[1]}{number[2]}".lower())
    yield mine.filter(code=code_in(text))
    yield mine.filter(creation_ref=text, order_ref=text)
    yield mine.filter(UNKEYED_REFERENCE, order_ref=text)
    # An address without payments still identifies its checkout.
    nonces = deposits_at(seat, text).values_list("nonce", flat=True)
    if found := [bytes(nonce) for nonce in nonces]:
        yield mine.filter(deposit_nonce__in=found)
    if transfers := matching_transfers(seat, text):
        # Keys first: a list of keys is looked up in an index, while a join may be planned as a scan.
        paid = Payment.objects.filter(transfer__in=transfers)
        yield mine.filter(pk__in=list(paid.values_list("checkout_id", flat=True)))


def _transfer_looks(seat: Seat, mine: QuerySet[Transfer], text: str) -> Iterator[QuerySet[Transfer]]:
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
    """Return the merchant's deposit address with this text; none if it is not an address."""
    if not _EVM_ADDRESS.fullmatch(text):
        return DepositAddress.objects.none()
    key = bytes.fromhex(text[2:])
    return DepositAddress.objects.filter(key=key, merchant=seat.merchant, mode=seat.mode)


def code_in(text: str) -> str:
    """Return the last part of a page's address; the text itself if it is none."""
    if "/" not in text:
        return text
    try:
        return urlsplit(text).path.rstrip("/").rpartition("/")[2]
    except ValueError:
        return text


def transactions_named(text: str) -> Q:
    """Return the filter on `chain` and `tx_hash` for the transaction in a text; empty if it is not a hash."""
    found = Q()
    for chain, tx_hash in spelled(text).items():
        found |= Q(chain=chain, tx_hash=tx_hash)
    return found


def spelled(text: str) -> dict[str, str]:
    """Return, by chain, its spelling of the transaction hash in a text; empty if it is not a hash."""
    try:
        return spellings(text)
    except UnreadableHashError:
        return {}


def _addresses(text: str) -> set[str]:
    """Return the spellings of an address on the chains that could have it; empty if it is none."""
    if _EVM_ADDRESS.fullmatch(text):
        # Typed or copied addresses may lose their capitals, which are a checksum.
        return {checksum(bytes.fromhex(text[2:]))}
    found = set()
    for spec in chains().values():
        try:
            found.add(address_on(spec, text))
        except AddressError:
            continue
    return found
