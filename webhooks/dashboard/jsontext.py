"""JSON for people to read, token by token as it was sent: a parser would write numbers in its own way."""

import re
from typing import Final

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s{}\[\],:"]+')
_INDENT: Final = "  "
_CLOSING: Final = {"{": "}", "[": "]"}


def indented(text: str) -> str:
    """Return JSON with line breaks and indents; every string and number stays as it is written."""
    pieces = _TOKEN.findall(text)
    parts: list[str] = []
    depth = 0
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        parts.append(piece)
        is_empty = _CLOSING.get(piece) == following
        if piece == ":":
            parts.append(" ")
        if piece in _CLOSING and not is_empty:
            depth += 1
        closes = following in {"}", "]"} and not is_empty
        if closes:
            depth = max(depth - 1, 0)
        if closes or piece == "," or (piece in _CLOSING and not is_empty):
            parts.append("\n" + _INDENT * depth)
    return "".join(parts)
