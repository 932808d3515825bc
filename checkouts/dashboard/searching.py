"""Finding checkouts by what people paste: an id, a link, their own reference, a transaction, an address.

Each kind of text is one look into an index, however many checkouts there are. A buyer's e-mail address is none of them.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from django.db.models import Q, QuerySet

from accounts.seats import Seat
from checkouts.models import UNKEYED_REFERENCE, Checkout
from wallets.hashes import UnreadableHashError, spellings
from wallets.models import DepositAddress, ReceivingWallet, Transfer

LONGEST_TEXT: Final = 1_000
MOST_FOUND: Final = 100
"""The newest are shown of what more checkouts share, such as a receiving address."""

_EVM_ADDRESS: Final = re.compile(r"0[xX][0-9a-fA-F]{40}", re.ASCII)


def matching_keys(seat: Seat, text: str) -> list[int]:
    """Return the primary keys of the merchant's checkouts, in the mode, that a text names: the newest, MOST_FOUND at most."""
    text = text.strip()
    if not text or len(text) > LONGEST_TEXT or "\x00" in text:
        return []
    mine = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    keys = {key for found in _looks(seat, mine, text) for key in _newest(found)}
    return sorted(keys, reverse=True)[:MOST_FOUND]


def _newest(found: QuerySet[Checkout]) -> list[int]:
    return list(found.order_by("-pk").values_list("pk", flat=True)[:MOST_FOUND])


def _looks(
    seat: Seat, mine: QuerySet[Checkout], text: str
) -> Iterator[QuerySet[Checkout]]:
    yield mine.filter(public_id=text)
    yield mine.filter(code=_code_in(text))
    yield mine.filter(creation_ref=text, order_ref=text)
    yield mine.filter(UNKEYED_REFERENCE, order_ref=text)
    if transactions := _transactions(text):
        paid = Transfer.objects.filter(transactions, merchant=seat.merchant)
        yield mine.filter(payments__transfer__in=_keys_of(paid))
    if _EVM_ADDRESS.fullmatch(text):
        addresses = DepositAddress.objects.filter(
            key=bytes.fromhex(text[2:]), merchant=seat.merchant
        )
        nonces = addresses.values_list("nonce", flat=True)
        yield mine.filter(deposit_nonce__in=[bytes(nonce) for nonce in nonces])
    wallets = ReceivingWallet.objects.filter(merchant=seat.merchant)
    if pks := list(wallets.filter(_is_address(text)).values_list("pk", flat=True)):
        into = Transfer.objects.filter(wallet__in=pks, mode=seat.mode)
        yield mine.filter(payments__transfer__in=_keys_of(into))


def _keys_of(transfers: QuerySet[Transfer]) -> list[int]:
    return list(transfers.order_by("-pk").values_list("pk", flat=True)[:MOST_FOUND])


def _code_in(text: str) -> str:
    """The last part of a page's address; the text itself where it is none."""
    if "/" not in text:
        return text
    try:
        return urlsplit(text).path.rstrip("/").rpartition("/")[2]
    except ValueError:
        return text


def _transactions(text: str) -> Q:
    """The transfers of a transaction, by the index that records each once; an empty condition for what is no hash."""
    try:
        written = spellings(text)
    except UnreadableHashError:
        return Q()
    found = Q()
    for chain, tx_hash in written.items():
        found |= Q(chain=chain, tx_hash=tx_hash)
    return found


def _is_address(text: str) -> Q:
    # Base58 tells capitals apart, hexadecimal does not.
    return Q(address__iexact=text) if _EVM_ADDRESS.fullmatch(text) else Q(address=text)
