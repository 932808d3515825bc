"""Files for spreadsheets: no cell is a program, and any number of rows fits."""

import csv
import io
from collections.abc import Iterator
from decimal import Decimal

import pytest

from gateway.core.csv_files import (
    ROWS_AT_ONCE,
    csv_pieces,
    csv_response,
    harmless,
)


@pytest.mark.parametrize(
    "cell",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋", "－", "＠"],
)
def test_what_a_spreadsheet_would_run_is_made_text(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"


@pytest.mark.parametrize(
    "cell", ["", "a=1", "'=1", " 1", "49.00", -5, Decimal(-5), None]
)
def test_everything_else_stays_as_it_is(cell: object) -> None:
    assert harmless(cell) is cell


def test_quotes_commas_and_lines_come_back_as_they_were() -> None:
    rows: list[list[object]] = [
        ['say "hi"', "a,b", "two\r\nlines", "日本"],
        ["", None, 7, Decimal("1.50")],
    ]
    text = "".join(csv_pieces(["a", "b", "c", "d"], rows))
    header, first, second = csv.reader(io.StringIO(text, newline=""))
    assert header == ["a", "b", "c", "d"]
    assert first == rows[0]
    assert second == ["", "", "7", "1.50"]


def test_rows_are_asked_for_as_they_are_sent() -> None:
    asked: list[int] = []

    def rows() -> Iterator[list[int]]:
        for number in range(10 * ROWS_AT_ONCE):
            asked.append(number)
            yield [number]

    pieces = csv_pieces(["n"], rows())
    assert (next(pieces), asked) == ("n\r\n", [])
    assert next(pieces).count("\r\n") == len(asked) == ROWS_AT_ONCE


def test_the_answer_is_a_file_to_be_saved() -> None:
    response = csv_response("inbox-open", ["a"], [["1"]])
    assert response["Content-Disposition"] == 'attachment; filename="inbox-open.csv"'
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert b"".join(response) == b"a\r\n1\r\n"
