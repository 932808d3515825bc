"""Formats JSON for people. Only white space is added, so numbers and escapes keep their spelling."""

import re
from typing import Final

_PIECES: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]|[^\[\]{},:"\s]++')
_BEGINS: Final = {"{", "["}
_ENDS: Final = {"}", "]"}
_EMPTY: Final = {"{}", "[]"}
_INDENT: Final = "  "


def indented(text: str) -> str:
    """Return valid JSON, indented."""
    written: list[str] = []
    depth, before = 0, ""
    for piece in _PIECES.findall(text):
        depth -= piece in _ENDS
        written += (_gap(before, piece, depth), piece)
        depth += piece in _BEGINS
        before = piece
    return "".join(written)


def _gap(before: str, piece: str, depth: int) -> str:
    if before == ":":
        return " "
    begins_line = before == "," or before in _BEGINS or piece in _ENDS
    return "\n" + _INDENT * depth if begins_line and before + piece not in _EMPTY else ""
