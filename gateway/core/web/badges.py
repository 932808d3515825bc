"""Badges: the short coloured words of tables and pages, such as a status."""

from typing import NamedTuple


class Badge(NamedTuple):
    """A word and its tone: one of the badges' modifiers in the style sheet, or empty."""

    label: str
    tone: str
