"""Files for spreadsheets: no cell is a program, and any number of rows fits."""

import csv
import io
from collections.abc import Iterator
from decimal import Decimal
from itertools import product

import pytest

from gateway.core.exports import ROWS_AT_ONCE, csv_pieces, csv_response, harmless
from tests.cases import case

FORMULAS = "=+-@＝＋－＠"
BLANKS = ["", " ", '"', "\u200b", "\ufeff", "\xa0", "\u202e", "\u2066", "\u180e", "\u3164", " " * 99]
SEPARATORS = [",", ";", "\t", "|"]
BEFORE = ["", ";", "x;", 'x";"', "x\t", "x\r\n", "x|", "x; "]


def test_what_a_spreadsheet_would_run_is_made_text() -> None:
    for blank, formula in product(BLANKS, FORMULAS):
        assert harmless(f"{blank}{formula}1") == f"'{blank}{formula}1"


def test_no_part_of_a_line_is_a_formula_whatever_separates_cells() -> None:
    for before, formula, separator in product(BEFORE, FORMULAS, SEPARATORS):
        with case(before, formula, separator):
            text = "".join(csv_pieces(["n"], [["1", f"{before}{formula}cmd|' /C calc'!A0"]]))
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            # As they are, and as a program reads them that ignores quotes.
            cells = [cell for row in rows for cell in row]
            cells += [cell for line in text.splitlines() for cell in line.split(separator)]
            begin = [cell.strip(' "\ufeff\r\n\t')[:1] for cell in cells]
            assert not set(begin) & set(FORMULAS)


def test_a_long_text_of_line_breaks_takes_no_square_of_its_length() -> None:
    breaks = "\n" * 200_000
    assert harmless(f"{breaks}=1") == f"'{breaks}'=1"


@pytest.mark.parametrize("cell", ["", "a=1", "'=1", " 1", "49.00", "a-1; b"])
def test_everything_else_stays_as_it_is(cell: str) -> None:
    assert harmless(cell) == cell


def test_an_identifier_of_digits_is_quoted_and_a_number_is_not() -> None:
    row: list[object] = ["00123", "12345678901234567", "1e5", 7, Decimal("1e-18"), -5]
    [_, line] = csv_pieces(["n"], [row])
    assert line == ('"00123","12345678901234567","1e5",7,0.000000000000000001,-5\r\n')


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_text_with_a_separator_is_one_cell_whatever_separates_cells(separator: str) -> None:
    text = f"x{separator}y"
    [_, line] = csv_pieces(["n"], [[text]])
    assert line == f'"{text}"\r\n'
    assert next(csv.reader([line], delimiter=separator)) == [text]


def test_a_file_for_people_begins_with_a_byte_order_mark() -> None:
    assert "".join(csv_pieces(["n"], [])) == "\ufeffn\r\n"
    assert "".join(csv_pieces(["n"], [], for_people=False)) == "n\r\n"


def test_quotes_commas_and_lines_come_back_as_they_were() -> None:
    rows: list[list[object]] = [['say "hi"', "a,b", "two\r\nlines", "日本"], ["", None, 7, Decimal("1.50")]]
    text = "".join(csv_pieces(["a", "b", "c", "d"], rows, for_people=False))
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

    pieces = csv_pieces(["n"], rows(), for_people=False)
    assert (next(pieces), asked) == ("n\r\n", [])
    assert next(pieces).count("\r\n") == len(asked) == ROWS_AT_ONCE


def test_the_answer_is_a_file_to_be_saved() -> None:
    response = csv_response("inbox-open", ["a"], [["1"]])
    assert response["Content-Disposition"] == 'attachment; filename="inbox-open.csv"'
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert b"".join(response) == b'\xef\xbb\xbfa\r\n"1"\r\n'
