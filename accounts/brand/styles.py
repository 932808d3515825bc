"""The style sheet of a merchant's pages: only the rules that branding adds to Florin's."""

from functools import lru_cache
from hashlib import blake2b
from typing import Final

from accounts.brand.colours import DARK, LIGHT, Palette, Scheme, is_colour, palette

# Uses the cascade layers of static/css/florin.css, so that print styles still override colours. A logo stands on
# white: most are drawn for it, and a black one would be invisible in the dark theme.
_DRESS: Final = (
    "@layer page{"
    ".merchant img,.paper__head img{flex:none;max-width:min(160px,38vw);padding:3px;"
    "object-fit:contain;border-radius:8px;background:#fff}"
    ".paper__head img{margin-bottom:14px}"
    ".foot{flex-wrap:wrap;align-items:baseline}"
    ".foot a,.paper__foot a{color:inherit;padding-block:4px}"
    ".paper__links a+a{margin-inline-start:16px}"
    "}"
)
_EDGE: Final = (
    "@layer states{"
    ".button--primary,.button--primary:hover,.network:first-child .network__badge"
    "{border-color:var(--brand-edge)}}"
)


@lru_cache(maxsize=1024)
def stylesheet(accent: str) -> str:
    """Return the style sheet of an accent, or of a merchant who chose none.

    Raises ValueError for anything but `#rrggbb` or empty: no untrusted text enters the style sheet.
    """
    if not accent:
        return _DRESS
    if not is_colour(accent):
        raise ValueError("not a colour")
    return _colours(accent) + _EDGE + _DRESS


@lru_cache(maxsize=1024)
def stylesheet_version(accent: str) -> str:
    """Return 16 hexadecimal digits that change with the style sheet, also when a release changes the rules."""
    return blake2b(stylesheet(accent).encode(), digest_size=8).hexdigest()


def _colours(accent: str) -> str:
    return f"@layer tokens{{{_root(accent, LIGHT)}@media (prefers-color-scheme:dark){{{_root(accent, DARK)}}}}}"


def _root(accent: str, scheme: Scheme) -> str:
    drawn = palette(accent, scheme)
    return f":root{{{properties(drawn)}}}"


def properties(drawn: Palette) -> str:
    """Return the declarations of the custom properties that a palette feeds."""
    return (
        f"--brand:{drawn.fill};--brand-hover:{drawn.hover};--brand-ink:{drawn.ink};"
        f"--brand-soft:{drawn.soft};--brand-text:{drawn.text};--brand-edge:{drawn.edge}"
    )
