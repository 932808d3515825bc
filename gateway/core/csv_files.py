"""CSV files that people open in spreadsheets: written while they are read, and without cells that are programs."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from django.http import StreamingHttpResponse

ROWS_AT_ONCE: Final = 500
"""Rows that are put into one piece of the answer: one write for each row would cost more than the rows."""

# What begins so, a spreadsheet takes for a formula, and a formula can send away what stands beside it (OWASP, "CSV
# Injection"). The wide forms are what input methods of East Asia type.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
_TEXT: Final = "'"

Row = Sequence[object]


def csv_response(
    name: str, header: Sequence[str], rows: Iterable[Row]
) -> StreamingHttpResponse:
    """Return rows as a file to be saved as `name`.csv; they are asked for as they are sent, so that any number fits.

    Texts are made harmless. Numbers stay numbers, a time is written by whoever makes the row, None is an empty cell.
    """
    response = StreamingHttpResponse(
        csv_pieces(header, rows), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def csv_pieces(header: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """Write header and rows, some hundreds at a time."""
    writer = csv.writer(_Echo())
    yield writer.writerow(header)
    remaining = iter(rows)
    while some := list(islice(remaining, ROWS_AT_ONCE)):
        yield "".join(writer.writerow(map(harmless, row)) for row in some)


def harmless(cell: object) -> object:
    """Return what a spreadsheet shows and does not run."""
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return f"{_TEXT}{cell}"
    return cell


class _Echo:
    """The file that the writer writes to: it hands each line back."""

    def write(self, line: str) -> str:
        return line
