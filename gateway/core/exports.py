"""CSV responses and data exports: streamed, of any length, and safe from formula injection in any spreadsheet."""

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from gateway.core.api.fields import is_blank
from gateway.core.times import iso

ROWS_AT_ONCE: Final = 500
"""Rows per piece of the response. Sending each row separately would cost more than formatting it."""

BOM: Final = "\ufeff"
"""Begins a file that a person opens: Excel reads one without it in the computer's own encoding."""

_TEXT_SIGN: Final = "'"
# A spreadsheet runs a cell that begins with one of these as a formula, which can leak other cells (OWASP, "CSV
# Injection"). Input methods of East Asia type the wide forms; some programs drop what is blank or invisible before them.
_FORMULA: Final = "=+@＝＋－＠-"  # noqa: RUF001
_PLACES: Final = (*range(0x10000), *range(0xE0000, 0xE0080))
# Without what separates cells: so each run is read once, and a text of many line breaks takes linear time.
_BLANK: Final = '"' + "".join(char for char in map(chr, _PLACES) if is_blank(char) and char not in "\t\r\n")
# Where a list separator is a semicolon or a tab, our quotes hold nothing together: each such part is a cell of its own.
_RUNS: Final = re.compile(rf"(^|[;\t\r\n|])(?=[{_BLANK}]*[{_FORMULA}])")
_NUMBER: Final = re.compile(r"[0-9]+(?:[eE][0-9]+)?", re.ASCII)
_SPECIAL: Final = re.compile(r'[",;\t\r\n|]')

Row = Sequence[object]

_ROWS_IN_A_QUERY: Final = 2_000


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
    yield (BOM if for_people else "") + _csv_line(header)
    remaining = iter(rows)
    while some := list(islice(remaining, ROWS_AT_ONCE)):
        yield "".join(map(_csv_line, some))


def harmless(text: str) -> str:
    """Return a text that a spreadsheet shows instead of running it, or any part of it, as a formula."""
    if text[:1] in {"\t", "\r", "\n"}:
        text = f"{_TEXT_SIGN}{text}"
    return _RUNS.sub(rf"\g<1>{_TEXT_SIGN}", text)


def _csv_line(row: Row) -> str:
    return ",".join(map(_csv_cell, row)) + "\r\n"


def _csv_cell(cell: object) -> str:
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


@dataclass(frozen=True, slots=True)
class ExportTable:
    """One file of an export: `name` has no extension, and `rows` are read while the file is written."""

    name: str
    header: tuple[str, ...]
    rows: Iterable[Row]


def table_of(name: str, rows: QuerySet[Any], columns: str) -> ExportTable:
    """Return columns of some rows, oldest first.

    `columns` lists them as words, `a b__c`, explicitly: so no secret is included by accident.
    """
    header = tuple(columns.replace("__", "_").split())
    return ExportTable(name, header, _in_turns(rows, columns.split()))


def zip_response(name: str, tables: Iterable[ExportTable], *, for_people: bool = True) -> StreamingHttpResponse:
    """Return tables as a download named `name`.zip, in constant memory; each as `csv_response` writes it."""
    pieces = zip_pieces(tables, for_people=for_people)
    response = StreamingHttpResponse(pieces, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response


def zip_pieces(tables: Iterable[ExportTable], *, for_people: bool = True) -> Iterator[bytes]:
    """Yield the archive in pieces."""
    pipe = _Pipe()
    with ZipFile(pipe, "w", ZIP_DEFLATED) as archive:
        for table in tables:
            # A file's length is unknown when its header is written.
            with archive.open(f"{table.name}.csv", "w", force_zip64=True) as file:
                for piece in csv_pieces(table.header, table.rows, for_people=for_people):
                    file.write(piece.encode())
                    yield pipe.take()
    yield pipe.take()


def _in_turns(rows: QuerySet[Any], columns: list[str]) -> Iterator[list[object]]:
    """Yield rows by key, some thousands at a time: a cursor would make the database keep all of them meanwhile."""
    last = 0
    while found := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", *columns)[:_ROWS_IN_A_QUERY]):
        last = found[-1][0]
        yield from ([_export_cell(value) for value in row[1:]] for row in found)


def _export_cell(value: object) -> object:
    match value:
        case datetime():
            return iso(value)
        case bytes() | memoryview():
            return f"0x{bytes(value).hex()}"
        case dict() | list():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return value


class _Pipe:
    """A file object for ZIP output: it cannot seek, and hands out what was written since the last call."""

    def __init__(self) -> None:
        self._kept = io.BytesIO()

    def write(self, data: bytes, /) -> int:
        """Store a piece."""
        return self._kept.write(data)

    def flush(self) -> None:
        """Do nothing: no data is buffered elsewhere."""

    def close(self) -> None:
        """Do nothing: no file is open."""

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        data = self._kept.getvalue()
        self._kept = io.BytesIO()
        return data
