"""The preview of an accent colour before it is saved: in both themes, and in words."""

from typing import Final

from accounts.brand.colours import DARK, LIGHT, Scheme, is_colour, palette
from accounts.brand.styles import properties

_THEMES: Final = (("light", LIGHT), ("dark", DARK))
_DARK_LETTERS: Final = "#000000"


def preview_stylesheet(accent: str) -> str:
    """Return the preview's style sheet for an accent; empty without a valid colour.

    The preview is part of a dashboard page, so its colours apply only inside it, in either theme of the reader.
    """
    if not is_colour(accent):
        return ""
    rules = "".join(f".preview--{name}{{{properties(palette(accent, scheme))}}}" for name, scheme in _THEMES)
    return f"@layer states{{{rules}}}"


def preview_notes(accent: str) -> list[str]:
    """Return the notes on how an accent was changed to stay readable."""
    if not accent:
        return ["Without your own colour, your pages use ours."]
    if not is_colour(accent):
        return ["Enter a colour, such as #2440d8. Until then the preview shows ours."]
    is_bright = palette(accent, LIGHT).ink == _DARK_LETTERS
    letters = (
        "Your buttons use dark text, because white is hard to read on this colour."
        if is_bright
        else "Your buttons use white text, which is easy to read on this colour."
    )
    return [letters, *(note for name, scheme in _THEMES for note in _moved(accent, name, scheme))]


def _moved(accent: str, name: str, scheme: Scheme) -> list[str]:
    drawn = palette(accent, scheme)
    direction = "lighter" if scheme.is_dark else "darker"
    notes = []
    if drawn.text != accent:
        notes.append(f"On {name} screens, links are drawn {direction}: {drawn.text}.")
    if drawn.edge != drawn.fill:
        notes.append(f"On {name} screens, buttons get a border, so that they stand out.")
    return notes
