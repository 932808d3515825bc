"""Reading what payers put beside a transfer."""

import base58
import pytest

from checkouts.attribution.labels import code_like, memos_in, references_in

REFERENCE = bytes(range(32))


def test_a_reference_is_base58_of_32_bytes_whatever_stands_around_it() -> None:
    written = base58.b58encode(REFERENCE).decode()
    for around in (" {}\n", "Order {}.", '"{}"%20', "\u200b{}", "solana:{}?amount=1"):
        assert references_in([around.format(written), "thanks!"]) == {REFERENCE}


@pytest.mark.parametrize("label", ["", "0" * 32, "é" * 40, base58.b58encode(bytes(24) + b"x").decode(), "1" * 44])
def test_what_is_no_reference_is_left_alone(label: str) -> None:
    assert references_in([label]) == set()


CODE = "4tk9zq0m7xw2bh5d"


@pytest.mark.parametrize(
    "label",
    [
        CODE,
        CODE.upper(),
        f"Order {CODE}",
        f"order{CODE}thanks",
        f'"{CODE}"',
        f"\u00ab{CODE}\u00bb.",
        f"{CODE}%20",
        f"Order%20{CODE.upper()}%0A",
        f"%22{CODE}%22",
        f"&quot;{CODE}&quot;",
        f"Order:+{CODE}",
        "4TK9-ZQ0M-7XW2-BH5D",
        "4tk9 zq0m 7xw2 bh5d",
        "4TK9%20ZQ0M%207XW2%20BH5D",
        "4TK9&nbsp;ZQ0M&nbsp;7XW2&nbsp;BH5D",
        "4tk9zqOm7xw2bh5d",
        "\u200b".join(CODE),
        f"\ufeff{CODE}\u200e",
        "4tk9zq0m\u00ad7xw2bh5d",
        "".join(chr(ord(one) + 0xFEE0) for one in CODE),
        f"{'x' * 480} {CODE}",
        f"\u0417\u0430\u043a\u0430\u0437 {CODE}\u3002",
    ],
)
def test_a_code_is_found_whatever_stands_around_it(label: str) -> None:
    assert CODE in memos_in([label])


def test_letters_that_a_code_lacks_are_read_as_digits() -> None:
    assert "abcdefgh01112345" in memos_in(["ABCD-EFGH-oIl1-2345"])


@pytest.mark.parametrize("label", ["", "abc", "abcdefgh0111234!", "abcdefgh_u_2345678", "1" * 32])
def test_what_is_no_memo_is_left_alone(label: str) -> None:
    assert memos_in([label]) == set()


@pytest.mark.parametrize(
    "label",
    [
        CODE,
        f"Order {CODE.upper()}!",
        f"%22{CODE}%22",
        *(dash.join(("4TK9", "ZQ0M", "7XW2", "BH5D")) for dash in "-\u2010\u2011\u2013\u2014\u2212\uff0d"),
        CODE[:-1],
        CODE + "7",
    ],
)
def test_what_looks_like_a_code_is_told(label: str) -> None:
    assert code_like(["thanks", label])


@pytest.mark.parametrize(
    "label",
    [
        "thanks for the quick delivery, see you again soon",
        "congratulations2026",
        "Rechnung 20261126-0042",
        "1029384756102938",
        "SHP2026112600042",
        "order_1001",
        "#A-2210/7",
        "100200300",
        "a3f9c2e1b4d5f6a7",
        "550e8400-e29b-41d4-a716-446655440000",
        "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        "UQD4FPq-PRDieyQKkizFTRtSDyucUIqrj0v_zXJmqaDp6_0t",
        "F-7K2M",
        base58.b58encode(REFERENCE).decode(),
        "this-that-with-more",
        "ada@example.com",
    ],
)
def test_ordinary_comments_look_like_no_code(label: str) -> None:
    assert code_like([label]) == ""
