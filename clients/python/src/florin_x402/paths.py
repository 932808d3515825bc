"""Which paths a pattern protects, whatever spelling reaches the application.

Proxies and the application may each decode and normalise paths differently. A path is protected if any of its possible
readings is: charging too often is noticed at once, serving for free is not.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import product
from typing import Final
from urllib.parse import unquote

from florin_x402.errors import SettingsError

LONGEST_PATH: Final = 2_000
_PLAIN: Final = re.compile(r"(?:/[a-z0-9_-]+)+", re.ASCII)
_MOST_DECODINGS: Final = 3


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Read a pattern: `*` is anything within a segment, `**` anything at all. Raises SettingsError."""
    if not pattern.startswith("/"):
        raise SettingsError(f"A path begins with a slash: {pattern!r} does not.")
    folded = _folded(pattern).rstrip("/")
    below = folded.endswith("/**")
    pieces = re.split(r"(\*\*|\*)", folded.removesuffix("/**"))
    wild = {"*": "[^/]*", "**": ".*"}
    text = "".join(wild.get(piece) or re.escape(piece) for piece in pieces)
    return re.compile(text + ("(?:/.*)?" if below else ""), re.DOTALL)


def spellings(path: str) -> frozenset[str]:
    """Return all possible readings of a path, without trailing slashes; "" is the root."""
    if _PLAIN.fullmatch(path):
        return frozenset((path,))
    return frozenset(spelling.rstrip("/") for decoded in _decoded(path) for spelling in _readings(_folded(decoded)))


def is_text(path: str) -> bool:
    """Whether a path has neither control characters nor halves of characters."""
    return path.isprintable() or not any(unicodedata.category(char) in {"Cc", "Cs"} for char in path)


def _decoded(path: str) -> Iterator[str]:
    yield path
    for _ in range(_MOST_DECODINGS):
        following = unquote(path, errors="replace")
        if following == path:
            return
        path = following
        yield path


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("\\", "/")


def _readings(path: str) -> Iterator[str]:
    """Read a path with and without its parameters, its empty segments and its dots being resolved."""
    for strips, collapses, resolves in product((False, True), repeat=3):
        segments = path.removeprefix("/").split("/")
        if strips:
            segments = [segment.partition(";")[0].strip() for segment in segments]
        if collapses:
            segments = [segment for segment in segments if segment]
        if resolves:
            segments = _resolved(segments)
        yield "/" + "/".join(segments)


def _resolved(segments: list[str]) -> list[str]:
    found: list[str] = []
    for segment in segments:
        if segment == "..":
            del found[-1:]
        elif segment != ".":
            found.append(segment)
    return found
