"""A printed sign: its three steps in each language that the merchant chose for it, and the size of its paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.utils import translation
from django.utils.translation import get_language_info, gettext

MOST_LANGUAGES: Final = 3
"""More do not fit an A6 sheet beside a code that cameras read."""
PAPERS: Final = ("a6", "a5")
"""Sizes of paper, the usual one first (ISO 216). Each is a page of static/css/dashboard/terminals.css."""


@dataclass(frozen=True, slots=True)
class Guide:
    """The steps of a sign in one language; `direction` is `ltr` or `rtl`."""

    language: str
    direction: str
    steps: Sequence[str]


def asked_guides(asked: Sequence[str], *, has_price: bool = False) -> dict[str, Any]:
    """Return a sign's `guides` in the languages that were asked for, and the `languages` to choose from: (code, name, whether chosen).

    Unknown ones and those beyond three are left out; without any, it is in the installation's language. With `has_price`, the customer
    types no amount.
    """
    known = dict(settings.LANGUAGES)
    chosen = [code for code in dict.fromkeys(asked) if code in known][:MOST_LANGUAGES] or [settings.LANGUAGE_CODE]
    return {
        "guides": [_guide(code, has_price=has_price) for code in chosen],
        "languages": [(code, name, code in chosen) for code, name in known.items()],
        "most_languages": MOST_LANGUAGES,
    }


def asked_paper(asked: str) -> dict[str, Any]:
    """Return a sign's `paper`, and the `papers` to choose from: (size, name, whether chosen). An unknown size is the usual one."""
    chosen = asked if asked in PAPERS else PAPERS[0]
    return {"paper": chosen, "papers": [(size, size.upper(), size == chosen) for size in PAPERS]}


def _guide(code: str, *, has_price: bool) -> Guide:
    with translation.override(code):
        steps = (
            gettext("Scan with your phone's camera"),
            gettext("Choose your network") if has_price else gettext("Type the amount that you were told"),
            gettext("Pay from your wallet in USDC or USDT"),
        )
    return Guide(code, "rtl" if get_language_info(code)["bidi"] else "ltr", steps)
