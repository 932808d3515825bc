"""Search for checkouts and transfers by any text: names first, then amounts, beginnings of names, and words.

Names are an id, a receipt's number, a link, a reference, a transaction and an address: each is one index look-up. Where no
name fits, the text may be the beginning of one, or words that a buyer or the merchant wrote. All of it is the merchant's of
one mode, and bounded, however many rows there are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from django.db import connection
from django.db.models import Q, QuerySet

from accounts.team.access import Seat
from accounts.team.permissions import Act
from checkouts.amounts import CENT_UNITS
from checkouts.models import UNKEYED_REFERENCE, AmountReservation, Checkout, Payment
from gateway.core.currencies import DECIMALS, USD
from gateway.core.money import CENT, to_units
from gateway.core.postgres.words import newest_ever, newest_of, newest_with_words
from wallets.chains.base import AddressError
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress, ReceivingWallet, Transfer
from wallets.networks import address_on, chains
from wallets.transfers.hashes import UnreadableHashError, spellings

LONGEST_TEXT: Final = 1_000
MOST_FOUND: Final = 100
"""Only the newest are shown if more checkouts match, for example by a receiving address."""

ABOUT: Final = Decimal("0.05")
"""How far an amount may be from one that is asked for by `~`, as a share of it."""

SEARCHED: Final = "description || ' ' || order_ref || ' ' || customer_ref || ' ' || customer_email"
"""SQL of a checkout's texts whose words are found, as its index `checkout_words` has them."""

# Who sees buyers' addresses masked cannot try them out either.
_SHOWN: Final = "description || ' ' || order_ref || ' ' || customer_ref"
# A receipt's short number: `CheckoutPage.receipt_number`.
_NUMBER: Final = re.compile(r"([0-9a-hjkmnp-tv-z]{5})-?([0-9a-hjkmnp-tv-z]{5})", re.ASCII | re.IGNORECASE)
_EVM_ADDRESS: Final = re.compile(r"0[xX][0-9a-fA-F]{40}", re.ASCII)
_AMOUNT: Final = re.compile(
    r"(?P<about>~|≈|about\s|circa\s|ca\.?\s)?\s*(?P<sign>\$)?\s*"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,11})(?:[.,](?P<part>[0-9]{1,6}))?\s*(?P<unit>\$|[a-z]{3}|usd[ct])?",
    re.ASCII | re.IGNORECASE,
)
_DOLLARS: Final = ("$", "USDC", "USDT")
_ABOUT_USD: Final = "amount BETWEEN %(least)s AND %(greatest)s"
_ABOUT_OWN: Final = "price BETWEEN %(least)s AND %(greatest)s AND currency = %(currency)s"
_ABOUT_ANY: Final = f"({_ABOUT_USD} OR price BETWEEN %(least)s AND %(greatest)s)"
_ID_BEGINNING: Final = re.compile(r"[a-z0-9]{2,4}_(?:live_|test_)?[0-9a-z]{4,}", re.ASCII | re.IGNORECASE)
# Four digits after 0x are shared by one in 65,536. Without it, a word may look the same: it has a digit then, and is longer.
_BEGINNING: Final = re.compile(r"0x[0-9a-f]{4,63}|(?=[^0-9]*[0-9])[0-9a-z_+/=-]{6,99}", re.ASCII | re.IGNORECASE)
_HEX: Final = re.compile(r"[0-9a-f]+", re.ASCII | re.IGNORECASE)
_EVM_DIGITS: Final = 40


def searchable(text: str) -> str:
    """Return a text normalised for the search; empty if it cannot match any object."""
    text = text.strip()
    return "" if len(text) > LONGEST_TEXT or "\x00" in text else text


def matching_keys(seat: Seat, text: str, *, most: int = MOST_FOUND) -> list[int]:
    """Return the primary keys of the merchant's newest checkouts that match a text, in the mode.

    `most` bounds those that are found by words; named ones are MOST_FOUND at most.
    """
    text = searchable(text)
    if not text:
        return []
    mine = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    named, amount = _newest_of(_looks(seat, mine, text)), amount_in(text)
    priced = _priced(seat, mine, amount, most) if amount else []
    if named or (priced and amount and amount.is_certain):
        return _merged(named, priced)
    return _merged(priced, _newest_of(_begun(seat, mine, text)), _worded(seat, text, most))


def matching_transfers(seat: Seat, text: str) -> list[int]:
    """Return the primary keys of the merchant's transfers that match a text, in the mode: the newest MOST_FOUND.

    The text is an id, a transaction, or the sender's or recipient's address; or the beginning of a transaction or a
    sender's address.
    """
    text = searchable(text)
    if not text:
        return []
    mine = Transfer.objects.filter(merchant=seat.merchant, mode=seat.mode)
    return _newest_of(_transfer_looks(seat, mine, text)) or _transfers_begun(seat, text)


def _merged(*found: list[int]) -> list[int]:
    return sorted({key for keys in found for key in keys}, reverse=True)[:MOST_FOUND]


def _newest_of(looks: Iterator[QuerySet[Any]]) -> list[int]:
    return _merged(*(_newest(found) for found in looks))


def _newest(found: QuerySet[Any]) -> list[int]:
    return list(found.order_by("-pk").values_list("pk", flat=True)[:MOST_FOUND])


def _looks(seat: Seat, mine: QuerySet[Checkout], text: str) -> Iterator[QuerySet[Checkout]]:
    yield mine.filter(public_id=text)
    if number := _NUMBER.fullmatch(text):
        yield mine.filter(public_id__startswith=f"chk_{seat.mode}_{number[1]}{number[2]}".lower())
    yield mine.filter(code=code_in(text))
    yield mine.filter(creation_ref=text, order_ref=text)
    yield mine.filter(UNKEYED_REFERENCE, order_ref=text)
    yield mine.filter(customer_ref=text, customer_ref__gt="")
    # An address without payments still identifies its checkout.
    yield from _deposited(mine, deposits_at(seat, text))
    mine_paid = Transfer.objects.filter(merchant=seat.merchant, mode=seat.mode)
    yield from _paid(mine, _newest_of(_transfer_looks(seat, mine_paid, text)))


def _deposited(mine: QuerySet[Checkout], deposits: QuerySet[DepositAddress]) -> Iterator[QuerySet[Checkout]]:
    nonces = deposits.order_by("pk").values_list("nonce", flat=True)[:MOST_FOUND]
    if found := [bytes(nonce) for nonce in nonces]:
        yield mine.filter(deposit_nonce__in=found)


def _paid(mine: QuerySet[Checkout], transfers: list[int]) -> Iterator[QuerySet[Checkout]]:
    if transfers:
        # Keys first: a list of keys is looked up in an index, while a join may be planned as a scan.
        paid = Payment.objects.filter(transfer__in=transfers)
        yield mine.filter(pk__in=list(paid.values_list("checkout_id", flat=True)))


def _transfer_looks(seat: Seat, mine: QuerySet[Transfer], text: str) -> Iterator[QuerySet[Transfer]]:
    yield mine.filter(public_id=text)
    if transactions := transactions_named(text):
        yield mine.filter(transactions)
    addresses = addresses_in(text)
    if not addresses:
        return
    yield mine.filter(sender__in=addresses)
    if deposits := list(deposits_at(seat, text).values_list("pk", flat=True)):
        yield mine.filter(deposit__in=deposits)
    wallets = ReceivingWallet.objects.filter(merchant=seat.merchant)
    at = wallets.filter(address__in=addresses)
    if found := list(at.values_list("pk", flat=True)):
        yield mine.filter(wallet__in=found)


@dataclass(frozen=True, slots=True)
class AmountAsked:
    """An amount that a text asks for; `is_about` for all near it. A plain whole number may be a name as well.

    `currency` is empty where the text names none: the amount is in USD then, or in the currency of a price.
    """

    value: Decimal
    currency: str
    is_about: bool
    is_certain: bool

    @property
    def bounds(self) -> tuple[Decimal, Decimal]:
        """The least and the greatest amount that is meant."""
        far = self.value * ABOUT if self.is_about else Decimal(0)
        return self.value - far, self.value + far


def amount_in(text: str) -> AmountAsked | None:
    """Return the amount of a text such as `80`, `$80.00`, `40 EUR`, `1,250.50 USDC`, `62.0032` or `~80`; None if it is none."""
    read = _AMOUNT.fullmatch(text.strip())
    if read is None:
        return None
    unit = (read["unit"] or read["sign"] or "").upper()
    currency = USD if unit in _DOLLARS else unit
    value = Decimal(f"{read['whole'].replace(',', '')}.{read['part'] or 0}")
    if not value or currency not in ("", *DECIMALS) or (read["sign"] and currency != USD):
        return None
    is_certain = any(read.group("about", "sign", "part", "unit"))
    return AmountAsked(value, currency, is_about=bool(read["about"]), is_certain=is_certain)


def priced_within(currency: str, least: Decimal, greatest: Decimal) -> list[Q]:
    """Return filters for checkouts of a price between two, to be joined by "or". Each has an index of its own.

    An empty `currency` finds both amounts in USD and prices in any other currency.
    """
    usd, own = (_within(column, least, greatest) for column in ("amount", "price"))
    if currency == USD:
        return [usd]
    return [own & Q(currency=currency)] if currency else [usd, own]


def _within(column: str, least: Decimal, greatest: Decimal) -> Q:
    # The rows of one amount are in the index in their order; those of several are not.
    return Q(**{column: least} if least == greatest else {f"{column}__range": (least, greatest)})


def _priced(seat: Seat, mine: QuerySet[Checkout], asked: AmountAsked, most: int) -> list[int]:
    """Return the checkouts of a price, or about it, and those that an exact amount identified."""
    least, greatest = asked.bounds
    if asked.is_about:
        values = {"merchant": seat.merchant.pk, "mode": seat.mode, "currency": asked.currency}
        values |= {"least": least, "greatest": greatest}
        condition = _ABOUT_ANY if not asked.currency else _ABOUT_USD if asked.currency == USD else _ABOUT_OWN
        return newest_of("checkouts_checkout", condition, values, most=most)
    price = asked.value.quantize(CENT, rounding="ROUND_DOWN")
    if price == asked.value:
        return _newest_of(mine.filter(one) for one in priced_within(asked.currency, price, price))
    suffix = to_units(asked.value - price) % CENT_UNITS
    held = AmountReservation.objects.filter(merchant=seat.merchant, mode=seat.mode, price=price, suffix=suffix)
    # Each has an index of its own.
    looks = (held.filter(released_at=None), held.filter(released_at__isnull=False))
    keys = [key for look in looks for key in look.order_by("-pk").values_list("checkout_id", flat=True)[:MOST_FOUND]]
    return _newest(mine.filter(pk__in=keys)) if keys else []


def id_beginning(text: str) -> str:
    """Return a text that may be the beginning of an id, as ids are written; empty if it is none."""
    return text.lower() if _ID_BEGINNING.fullmatch(text) else ""


def _begun(seat: Seat, mine: QuerySet[Checkout], text: str) -> Iterator[QuerySet[Checkout]]:
    if begin := id_beginning(text):
        yield mine.filter(public_id__startswith=begin)
    yield from _deposited(mine, deposits_begun(seat, text))
    yield from _paid(mine, _transfers_begun(seat, text))


def _worded(seat: Seat, text: str, most: int) -> list[int]:
    return newest_with_words(
        "checkouts_checkout",
        SEARCHED,
        text,
        merchant_id=seat.merchant.pk,
        mode=seat.mode,
        most=most,
        shown="" if seat.can(Act.RUN_PAYMENTS) else _SHOWN,
    )


def _transfers_begun(seat: Seat, text: str) -> list[int]:
    """Return the transfers whose transaction or sender begins with a text, found by the indexes of their small letters."""
    if not _BEGINNING.fullmatch(text):
        return []
    begin = text.lower()
    begins = [begin] if begin.startswith("0x") or not _HEX.fullmatch(begin) else [begin, f"0x{begin}"]
    values: dict[str, Any] = {"merchant": seat.merchant.pk, "mode": seat.mode}
    values |= {f"begin{place}": f"{_escaped(one)}%" for place, one in enumerate(begins)}
    conditions = [
        f"lower({column}) LIKE %(begin{place})s" for column in ("tx_hash", "sender") for place in range(len(begins))
    ]
    return newest_ever("wallets_transfer", f"({' OR '.join(conditions)})", values, most=MOST_FOUND)


def _escaped(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


def deposits_at(seat: Seat, text: str) -> QuerySet[DepositAddress]:
    """Return the merchant's deposit address with this text; none if it is not an address."""
    if not _EVM_ADDRESS.fullmatch(text):
        return DepositAddress.objects.none()
    key = bytes.fromhex(text[2:])
    return DepositAddress.objects.filter(key=key, merchant=seat.merchant, mode=seat.mode)


def deposits_begun(seat: Seat, text: str) -> QuerySet[DepositAddress]:
    """Return the merchant's deposit addresses that begin with a text; none if it is no beginning of one.

    Of a million of all merchants, some 15 share four digits: addresses are hashes.
    """
    digits = text[2:]
    if not (text[:2].lower() == "0x" and 4 <= len(digits) < _EVM_DIGITS and _HEX.fullmatch(digits)):
        return DepositAddress.objects.none()
    first, last = (bytes.fromhex(digits.ljust(_EVM_DIGITS, fill)) for fill in "0f")
    return DepositAddress.objects.filter(key__gte=first, key__lte=last, merchant=seat.merchant, mode=seat.mode)


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


def addresses_in(text: str) -> set[str]:
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


def take_in_words() -> int:
    """Move the words of new checkouts from the index's pending list into the index itself; return how many pages had them.

    Otherwise a search reads that list from its beginning, and whoever creates a checkout when it is full moves all of it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT gin_clean_pending_list('checkout_words')")
        return int(cursor.fetchone()[0])
