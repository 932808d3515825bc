"""Data exports: a ZIP of CSV files, streamed while it is read, of any length."""

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from gateway.core.csv_files import csv_pieces
from gateway.core.times import iso

_ROWS_AT_ONCE: Final = 2_000


@dataclass(frozen=True, slots=True)
class ExportTable:
    """One file of an export: `name` without its extension, the columns, and the rows, which are read while the file is written."""

    name: str
    header: tuple[str, ...]
    rows: Iterable[list[object]]


def table_of(name: str, rows: QuerySet[Any], columns: tuple[str, ...]) -> ExportTable:
    """Return columns of some rows, oldest first. Columns are listed explicitly, so that no secret is included by accident."""
    header = tuple(column.replace("__", "_") for column in columns)
    return ExportTable(name, header, _in_turns(rows, columns))


def zip_response(name: str, tables: Iterable[ExportTable]) -> StreamingHttpResponse:
    """Return tables as a download named `name`.zip, in constant memory."""
    response = StreamingHttpResponse(zip_pieces(tables), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response


def zip_pieces(tables: Iterable[ExportTable]) -> Iterator[bytes]:
    """Yield the archive in pieces."""
    pipe = _Pipe()
    with ZipFile(pipe, "w", ZIP_DEFLATED) as archive:
        for table in tables:
            # A file's length is unknown when its header is written.
            with archive.open(f"{table.name}.csv", "w", force_zip64=True) as file:
                for piece in csv_pieces(table.header, table.rows):
                    file.write(piece.encode())
                    yield pipe.take()
    yield pipe.take()


def _in_turns(rows: QuerySet[Any], columns: tuple[str, ...]) -> Iterator[list[object]]:
    """Yield rows by key, some thousands at a time: a cursor would make the database keep all of them meanwhile."""
    last = 0
    while found := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", *columns)[:_ROWS_AT_ONCE]):
        last = found[-1][0]
        yield from ([_cell(value) for value in row[1:]] for row in found)


def _cell(value: object) -> object:
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
