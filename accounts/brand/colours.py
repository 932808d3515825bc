"""Derives colours from a merchant's accent so that everything stays readable. Pure.

Contrast: WCAG 2.2, https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio. Lightness is moved in Oklab's polar form, which keeps
the hue as people see it: https://bottosson.github.io/posts/oklab/.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import atan2, cos, hypot, sin
from typing import Final

# WCAG 2.2, 1.4.3 (text) and 1.4.11 (non-text).
READABLE: Final = 4.5
VISIBLE: Final = 3.0

_HEX = re.compile(r"#[0-9a-f]{6}")
_STEPS = 100
_WHITE = "#ffffff"
_BLACK = "#000000"


@dataclass(frozen=True, slots=True)
class Scheme:
    """One theme of static/css/florin.css: the backgrounds of the accent, and its soft background.

    `soft` has that background's lightness and highest chroma; `is_dark` sets the direction in which a colour moves to
    gain contrast.
    """

    grounds: tuple[str, ...]
    soft: tuple[float, float]
    is_dark: bool


LIGHT: Final = Scheme(grounds=("#ffffff", "#fbfaf7", "#f6f4ef", "#efece5"), soft=(0.95, 0.03), is_dark=False)
DARK: Final = Scheme(grounds=("#181a21", "#1e2129", "#0f1015", "#14161c"), soft=(0.28, 0.06), is_dark=True)


@dataclass(frozen=True, slots=True)
class Palette:
    """The custom properties that the accent feeds, each `#rrggbb`.

    `fill` and `hover` carry `ink` as text. `text` is readable on every background, including `soft`. `edge` outlines
    filled parts: the fill itself, or `text` where the fill would not stand out.
    """

    fill: str
    hover: str
    ink: str
    soft: str
    text: str
    edge: str


@dataclass(frozen=True, slots=True)
class _Lch:
    """A colour by lightness (0 to 1), chroma and hue (radians)."""

    lightness: float
    chroma: float
    hue: float


def is_colour(text: str) -> bool:
    """Return whether a text is `#rrggbb` in lower case."""
    return _HEX.fullmatch(text) is not None


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def palette(accent: str, scheme: Scheme) -> Palette:
    """Return the palette of an accent. The fill is the accent itself: either black or white is readable on it."""
    ink = _WHITE if contrast(accent, _WHITE) >= READABLE else _BLACK
    seen = _to_lch(accent)
    lightness, most_chroma = scheme.soft
    soft = _to_hex(_Lch(lightness, min(seen.chroma, most_chroma), seen.hue))
    text = _standing_out(seen, (*scheme.grounds, soft), is_dark=scheme.is_dark)
    is_lost = min(contrast(accent, ground) for ground in scheme.grounds) < VISIBLE
    return Palette(
        fill=accent, hover=_hover(seen, ink), ink=ink, soft=soft, text=text, edge=text if is_lost else accent
    )


def _standing_out(seen: _Lch, grounds: Iterable[str], *, is_dark: bool) -> str:
    """Return the colour, moved away from the backgrounds just enough to be readable on each."""
    grounds = tuple(grounds)
    return next(
        shade
        for shade in _shades(seen, 1.0 if is_dark else 0.0)
        if all(contrast(shade, ground) >= READABLE for ground in grounds)
    )


def _hover(seen: _Lch, ink: str) -> str:
    """Return the fill's colour on hover: slightly lighter or darker, with the same ink, away from the ink if possible."""
    away, towards = (-0.07, 0.14) if ink == _WHITE else (0.07, -0.07)
    is_room = 0.1 < seen.lightness < 0.93
    lightness = seen.lightness + (away if is_room else towards)
    return _to_hex(_Lch(lightness, seen.chroma, seen.hue))


def _shades(seen: _Lch, end: float) -> Iterator[str]:
    """Return the colour at lightnesses from its own to `end`; the last is black or white."""
    for step in range(_STEPS + 1):
        lightness = seen.lightness + (end - seen.lightness) * step / _STEPS
        yield _to_hex(_Lch(lightness, seen.chroma, seen.hue))


def _luminance(colour: str) -> float:
    """Return WCAG's relative luminance."""
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(colour: str) -> tuple[float, float, float]:
    red, green, blue = (_decoded(int(colour[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return red, green, blue


def _decoded(value: float) -> float:
    """Return a channel decoded by sRGB's transfer function (IEC 61966-2-1), from 0 to 1."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _encoded(value: float) -> float:
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def _to_lch(colour: str) -> _Lch:
    red, green, blue = _linear(colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    lightness = 0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short
    return _Lch(lightness, hypot(a, b), atan2(b, a))


def _to_hex(wanted: _Lch) -> str:
    """Return the nearest colour within sRGB, with reduced chroma if needed."""
    lightness = min(max(wanted.lightness, 0.0), 1.0)
    for step in range(_STEPS + 1):
        chroma = wanted.chroma * (1 - step / _STEPS)
        values = _to_linear(_Lch(lightness, chroma, wanted.hue))
        if all(-0.0005 <= value <= 1.0005 for value in values):
            return "#" + "".join(f"{_byte(value):02x}" for value in values)
    return _WHITE if lightness > 0.5 else _BLACK


def _byte(value: float) -> int:
    return round(255 * _encoded(min(max(value, 0.0), 1.0)))


def _to_linear(colour: _Lch) -> tuple[float, float, float]:
    a, b = colour.chroma * cos(colour.hue), colour.chroma * sin(colour.hue)
    long = (colour.lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (colour.lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (colour.lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
