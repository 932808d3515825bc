"""Accuracy of attribution: thousands of random payments to a merchant's one wallet, judged by the rules and compared with the truth.

Nothing is timed. Counted are payments credited correctly, credited wrongly, and left to a person, beside the maximum that
each transfer's own facts allow.
"""

from benchmarks.report import Claim, Report, Series
from tests.simulation.market import SHOPS, Shop, Tally, Way
from tests.simulation.trading import simulate, table, total

CHECKOUTS = 3_000


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Run each shop; a round is a seed."""
    del seconds
    return [_trade(shop, rounds) for shop in SHOPS]


def _trade(shop: Shop, rounds: int) -> Report:
    found = [simulate(shop, checkouts=CHECKOUTS, seed=seed) for seed in range(1, rounds + 1)]
    each = [total(tallies.values()) for tallies in found]
    whole = total(each)
    share = [
        Series(name, "% of payments", [100 * figure / t.payments for figure, t in pairs])
        for name, pairs in (
            ("credited right", [(t.right, t) for t in each]),
            ("ceiling: what facts can tell", [(t.ceiling, t) for t in each]),
            ("told as theirs in the inbox", [(t.named, t) for t in each]),
            ("left to a person", [(t.left, t) for t in each]),
            ("a stranger's; nothing could tell", [(_beyond(t), t) for t in each]),
        )
    ]
    claims = [
        Claim("credited wrong where facts can tell", len(whole.wrong), 0, at_most=True),
        Claim("credited right / ceiling", whole.right / whole.ceiling, 0.93),
    ]
    notes = [*table(_by_way(found)), *_classes(whole)]
    return Report(f"attribution of {shop.name}", share, claims, notes)


def _beyond(tally: Tally) -> int:
    return tally.beyond.total()


def _by_way(found: list[dict[Way, Tally]]) -> dict[Way, Tally]:
    ways = sorted({way for tallies in found for way in tallies})
    return {way: total(t[way] for t in found if way in t) for way in ways}


def _classes(whole: Tally) -> list[str]:
    """Say how often money was taken for a stranger's with nothing to tell it by, and why."""
    credited = [
        f"credited to a stranger: {why}: {count} of {whole.payments:,}" for why, count in whole.beyond.most_common()
    ]
    told = [
        f"in the inbox as a stranger's: {why}: {count} of {whole.payments:,}"
        for why, count in whole.misnamed.most_common()
    ]
    return credited + told
