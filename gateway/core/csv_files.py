"""CSV responses for spreadsheets: streamed, and safe from formula injection."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from django.http import StreamingHttpResponse

ROWS_AT_ONCE: Final = 500
"""Rows per piece of the response. Sending each row separately would cost more than formatting it."""

# A spreadsheet runs a cell that begins with one of these as a formula, which can leak other cells (OWASP, "CSV
# Injection"). Input methods of East Asia type the wide forms.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
_TEXT: Final = "'"

Row = Sequence[object]


def csv_response(
    name: str, header: Sequence[str], rows: Iterable[Row]
) -> StreamingHttpResponse:
    """Return rows as a download named `name`.csv. Rows are read while they are sent, so their number is unlimited.

    Texts are escaped by `harmless`. Numbers stay numbers, the caller formats times, None is an empty cell.
    """
    response = StreamingHttpResponse(
        csv_pieces(header, rows), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def csv_pieces(header: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """Yield the header and the rows as CSV text, `ROWS_AT_ONCE` rows at a time."""
    writer = csv.writer(_Echo())
    yield writer.writerow(header)
    remaining = iter(rows)
    while some := list(islice(remaining, ROWS_AT_ONCE)):
        yield "".join(writer.writerow(map(harmless, row)) for row in some)


def harmless(cell: object) -> object:
    """Return the cell as text that a spreadsheet shows instead of running it as a formula."""
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return f"{_TEXT}{cell}"
    return cell


class _Echo:
    """The file that the CSV writer writes to: it returns each line."""

    def write(self, line: str) -> str:
        return line
