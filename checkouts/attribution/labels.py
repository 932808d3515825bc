"""Reads the texts that payers attach to a transfer: Solana Pay references, memos and comments. They are untrusted.

EVM chains and Tron have none: an EVM transfer has no text, and Tron's memo (`raw_data.data`) is not in the JSON-RPC that is
read there, so each payment would cost a request to another interface, which not every provider has.

A checkout's code is the memo of its exact amount (`AmountReservation.memo`): 16 digits and letters, without i, l, o and u.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

import base58

from checkouts.amounts import REFERENCE_BYTES
from gateway.core.ids import ALPHABET

CODE_LENGTH: Final = 16
# Digits of base 58 that 32 bytes may take.
_REFERENCE: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}")
# Crockford's base 32 reads these letters as digits (https://www.crockford.com/base32.html).
_READ_AS: Final = str.maketrans("oil", "011")
_WORDS: Final = re.compile(r"[0-9a-z]+")
_NO_CODE: Final = re.compile(rf"[^{ALPHABET.decode()}]")
_IN_GROUPS: Final = re.compile(r"(?<![0-9a-z])[0-9a-z]{4}(?:[-_.\s][0-9a-z]{4}){3}(?![0-9a-z])")
# A letter that is lost or doubled leaves one of these lengths. Shops' own numbers have them too, so more must speak for a code.
_LEAST_TURNS: Final = {CODE_LENGTH - 1: 4, CODE_LENGTH: 2, CODE_LENGTH + 1: 4}
_LAST_HEX_DIGIT: Final = "f"
_MINUS: Final = "\u2212"


def references_in(labels: Iterable[str]) -> set[bytes]:
    """Return the labels' parts that may be references (`AmountReservation.reference`): base58 of 32 bytes.

    One that is no checkout's makes no match doubtful, unlike a code: Solana wallets and programs add read-only keys of their
    own to a transfer, so an unknown key is no sign of another shop's checkout.
    """
    parts = (part for label in labels for part in _REFERENCE.findall(plain(label)))
    read = (_reference(part) for part in parts)
    return {reference for reference in read if reference is not None}


def _reference(part: str) -> bytes | None:
    try:
        key = base58.b58decode(part)
    except ValueError:
        return None
    return key if len(key) == REFERENCE_BYTES else None


def memos_in(labels: Iterable[str]) -> set[str]:
    """Return every part that may be a checkout's code, as stored, whatever stands around or inside it."""
    return {memo for label in labels for memo in _memos(label)}


def _memos(label: str) -> Iterator[str]:
    # A key on Solana is a reference, and no text.
    if _REFERENCE.fullmatch(label) and _reference(label):
        return
    text = "".join(_WORDS.findall(plain(label).lower())).translate(_READ_AS)
    for run in _NO_CODE.split(text):
        for start in range(len(run) - CODE_LENGTH + 1):
            yield run[start : start + CODE_LENGTH]


def code_like(labels: Iterable[str]) -> str:
    """Return the first word that looks like a checkout's code, whether or not there is such a checkout; empty if none does.

    It has about a code's length and only its letters, not all of them hexadecimal, and turns from letters to digits or back
    more often than a shop's number does. It may be written in four groups.
    """
    for label in labels:
        text = plain(label).lower()
        words: list[str] = _WORDS.findall(text)
        words += [re.sub(r"[^0-9a-z]", "", one) for one in _IN_GROUPS.findall(text)]
        for word in words:
            if _looks_like_code(word):
                return word
    return ""


def _looks_like_code(word: str) -> bool:
    turns = sum(one.isdigit() != other.isdigit() for one, other in pairwise(word))
    return (
        len(word) in _LEAST_TURNS
        and turns >= _LEAST_TURNS[len(word)]
        and not _NO_CODE.search(word)
        and max(word) > _LAST_HEX_DIGIT
    )


def plain(label: str) -> str:
    """Return a label's text as its writer meant it: unescaped, in ASCII letters and digits where it has others of these.

    Characters that are not seen are left out: zero-width ones, marks for text direction, accents. Dashes and minus signs, which
    keyboards write for a hyphen, are hyphens.
    """
    text = unquote(label) if "%" in label else label
    text = html.unescape(text) if "&" in text else text
    if text.isascii():
        return text
    return "".join(_seen(one) for one in unicodedata.normalize("NFKD", text))


def _seen(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Pd" or character == _MINUS:
        return "-"
    return "" if category in ("Cf", "Mn") else character
