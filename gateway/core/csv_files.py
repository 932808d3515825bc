"""CSV responses: streamed, and safe from formula injection whatever separator a spreadsheet expects."""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Final

from django.http import StreamingHttpResponse

from gateway.core.api.fields import is_blank

ROWS_AT_ONCE: Final = 500
"""Rows per piece of the response. Sending each row separately would cost more than formatting it."""

BOM: Final = "\ufeff"
"""Begins a file that a person opens: Excel reads one without it in the computer's own encoding."""

_TEXT: Final = "'"
# A spreadsheet runs a cell that begins with one of these as a formula, which can leak other cells (OWASP, "CSV
# Injection"). Input methods of East Asia type the wide forms; some programs drop what is blank or invisible before them.
_FORMULA: Final = "=+@＝＋－＠-"  # noqa: RUF001
_PLACES: Final = (*range(0x10000), *range(0xE0000, 0xE0080))
# Without what separates cells: so each run is read once, and a text of line breaks takes no square of its length.
_BLANK: Final = '"' + "".join(char for char in map(chr, _PLACES) if is_blank(char) and char not in "\t\r\n")
# Where a list separator is a semicolon or a tab, our quotes hold nothing together: each such part is a cell of its own.
_RUNS: Final = re.compile(rf"(^|[;\t\r\n|])(?=[{_BLANK}]*[{_FORMULA}])")
_NUMBER: Final = re.compile(r"[0-9]+(?:[eE][0-9]+)?", re.ASCII)
_SPECIAL: Final = re.compile(r'[",;\t\r\n|]')

Row = Sequence[object]


def csv_response(
    name: str, header: Sequence[str], rows: Iterable[Row], *, for_people: bool = True
) -> StreamingHttpResponse:
    """Return rows as a download named `name`.csv. Rows are read while they are sent, so their number is unlimited.

    Texts are escaped by `harmless`. Numbers stay numbers, the caller formats times, None is an empty cell. A file
    `for_people` begins with a byte order mark, one for programs does not.
    """
    pieces = csv_pieces(header, rows, for_people=for_people)
    response = StreamingHttpResponse(pieces, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def csv_pieces(header: Sequence[str], rows: Iterable[Row], *, for_people: bool = True) -> Iterator[str]:
    """Yield the header and the rows as CSV text, `ROWS_AT_ONCE` rows at a time."""
    yield (BOM if for_people else "") + _line(header)
    remaining = iter(rows)
    while some := list(islice(remaining, ROWS_AT_ONCE)):
        yield "".join(map(_line, some))


def harmless(text: str) -> str:
    """Return a text that a spreadsheet shows instead of running it, or any part of it, as a formula."""
    if text[:1] in {"\t", "\r", "\n"}:
        text = f"{_TEXT}{text}"
    return _RUNS.sub(rf"\g<1>{_TEXT}", text)


def _line(row: Row) -> str:
    return ",".join(map(_cell, row)) + "\r\n"


def _cell(cell: object) -> str:
    """Write a cell. Quotes mark a text that looks like a number, such as an order number, as text."""
    if cell is None:
        return ""
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    if not isinstance(cell, str):
        return str(cell)
    text = harmless(cell)
    if _SPECIAL.search(text) or _NUMBER.fullmatch(text):
        return '"' + text.replace('"', '""') + '"'
    return text
