"""Recognises names that imitate a genuine token's. A token is never known by its name; this only words an answer."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final

from wallets.chains.registry import CHAINS

# Names that issuers gave their tokens, beside the symbols in the facts.
_NAMES: Final = (
    "USD Coin",
    "USD Base Coin",
    "Tether",
    "Tether USD",
    "USDT0",
    "Euro Coin",
    "Dai Stablecoin",
    "USDS Stablecoin",
    "PayPal USD",
    "First Digital USD",
    "TrueUSD",
    "Global Dollar",
    "Ripple USD",
    "Pax Dollar",
    "Ethena USDe",
    "Decentralized USD",
    "World Liberty Financial USD",
    "Gemini dollar",
    "Binance USD",
    "Frax USD",
    "LUSD Stablecoin",
    "Curve.Fi USD Stablecoin",
    "Tether EUR",
)
# Letters of other scripts, and signs, by the Latin letters that they look like.
_ALIKE: Final = {
    "a": "аɑαᴀᎪꭺꓮ",
    "b": "вʙβᏴᗷꓐ",
    "c": "сϲᴄ₵¢Ꮯꮯᑕⲥꓚƈ",  # noqa: RUF001
    "d": "ԁժᴅđðɗɖᎠꭰᗪꓓ",
    "e": "еєεᴇᎬꭼꓰ",
    "g": "ɡցԍᏀꮐꓖ",
    "h": "һհнᎻꮋꓧ",
    "i": "іιıɪӏ",  # noqa: RUF001
    "l": "ⅼļᏞꮮꓡ",
    "n": "ոռɴꓠ",
    "o": "оοօσ0ᴏⲟꓳ",  # noqa: RUF001
    "p": "рρᴘᏢꮲⲣꓑ",
    "r": "гʀᎡꭱꓣ",
    "s": "ѕꜱ$տᏚꮪᔕꓢ",  # noqa: RUF001
    "t": "тτᴛ₮₸†ƭʈŧᎢꭲⲧꓔ",
    "u": "υսᴜцμᑌꓴ𐓶",
    "y": "уүγʏꓬ",  # noqa: RUF001
}
_LATIN: Final = str.maketrans({sign: letter for letter, signs in _ALIKE.items() for sign in signs})
_PADDING: Final = re.compile(r"[^a-z0-9]")
_LONGEST: Final = 200


def is_imitation(names: Iterable[str]) -> bool:
    """Return whether one of an unlisted token's names is a genuine token's, in other letters or with padding too."""
    # A dollar sign may stand for a letter, or around the name.
    asked = (text for name in names for text in (name, name.replace("$", "")))
    return any(_plain(text[:_LONGEST]) in _genuine() for text in asked)


@cache
def _genuine() -> frozenset[str]:
    symbols = (symbol for facts in CHAINS for symbol in (*facts.symbols, *facts.mainnet.wrong_tokens))
    return frozenset(map(_plain, (*symbols, *_NAMES)))


def _plain(name: str) -> str:
    """Return a name's Latin letters and digits; marks, blanks, signs and invisible characters are left out."""
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_LATIN)
    return _PADDING.sub("", letters)
