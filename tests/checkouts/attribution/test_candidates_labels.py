"""Reading what payers put beside a transfer."""

import base58
import pytest

from checkouts.attribution.candidates import memos_in, references_in

REFERENCE = bytes(range(32))


def test_a_reference_is_base58_of_32_bytes_whatever_stands_around_it() -> None:
    written = base58.b58encode(REFERENCE).decode()
    assert references_in([f" {written}\n", "thanks!"]) == {REFERENCE}


@pytest.mark.parametrize(
    "label",
    [
        "",
        "0" * 32,
        "é" * 40,
        base58.b58encode(bytes(24) + b"x").decode(),
        "1" * 44,
    ],
)
def test_what_is_no_reference_is_left_alone(label: str) -> None:
    assert references_in([label]) == set()


def test_a_memo_is_read_as_people_write_it() -> None:
    assert memos_in(["ABCD-EFGH-oIl1-2345"]) == {"abcdefgh01112345"}


@pytest.mark.parametrize("label", ["", "abc", "abcdefgh0111234!", "abcdefgh011123456"])
def test_what_is_no_memo_is_left_alone(label: str) -> None:
    assert memos_in([label]) == set()
