"""The three figures as pages show them."""

from decimal import Decimal

from settlements.books.figures import Figures
from settlements.dashboard.sums import sums_from
from wallets.states import ClaimKind


def test_every_line_adds_up_and_so_does_the_total() -> None:
    found = [
        Figures(ClaimKind.CHECKOUT, "base", "USDC", 49_000_000, 40_000_000),
        Figures(ClaimKind.X402, "polygon", "USDT", 500_000, 0),
    ]
    sums = sums_from(found, held=1_000_000)
    for line in sums.lines:
        assert line.received == line.waiting + line.settled
    assert (sums.received, sums.settled) == (Decimal("49.5"), Decimal(40))
    assert (sums.waiting, sums.held) == (Decimal("9.5"), Decimal(1))
    assert sums.lines[1].purpose_words == "x402"


def test_without_lines_the_total_is_nothing() -> None:
    assert sums_from([]).received == 0
