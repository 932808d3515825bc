"""A market in small, with fixed seeds: nobody's money goes to a stranger where the transfer's own facts can tell."""

from datetime import timedelta
from functools import cache

import pytest

from tests.exhaustive import sample
from tests.simulation.market import SHOPS, Shop, Tally, Way
from tests.simulation.trading import (
    ENDED_BEFORE,
    EXACT_OF_ANOTHER,
    NOT_OFFERED,
    ROUND_BESIDE_RIVAL,
    UP_TO_ANOTHER,
    simulate,
    table,
    total,
)

CHECKOUTS = 400
CAUTION = {"to the letter": False, "cautious": True}
BEYOND_ANY_RULE = {ENDED_BEFORE, EXACT_OF_ANOTHER, NOT_OFFERED, UP_TO_ANOTHER}

# Two tests look at one market: one worker runs both, so that it is traded once.
pytestmark = pytest.mark.xdist_group("market")


@cache
def traded(shop: Shop, seed: int, caution: str) -> dict[Way, Tally]:
    """What became of the payments of a market, which nobody may change."""
    return simulate(shop, checkouts=CHECKOUTS, seed=seed, doubts_round_prices=CAUTION[caution])


@pytest.mark.parametrize("caution", CAUTION)
@pytest.mark.parametrize("seed", sample([1, 2], 1))
@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.name)
def test_nothing_is_credited_wrong_where_facts_can_tell_and_nearly_all_that_can_be_is(
    shop, seed, caution, record_property
):
    # Of its own: a way that is asked for is in it from then on.
    tallies = traded(shop, seed, caution).copy()
    record_property(caution, "\n".join(table(tallies)))
    whole = total(tallies.values())
    assert whole.wrong == []
    told = set() if CAUTION[caution] else {ROUND_BESIDE_RIVAL}
    assert set(whole.beyond) | set(whole.misnamed) <= BEYOND_ANY_RULE | told
    assert whole.payments > CHECKOUTS // 2
    assert whole.right >= whole.ceiling * 0.9
    assert tallies[Way.EXACT].right >= tallies[Way.EXACT].payments * 0.97
    by_reference = tallies[Way.ROUND_LABELLED]
    assert by_reference.right + by_reference.named == by_reference.payments


def test_every_way_of_paying_occurs():
    seen = set()
    for shop in SHOPS:
        seen |= set(traded(shop, 1, "to the letter"))
    assert seen == set(Way) - {Way.NOTHING}


def test_to_the_letter_late_payers_of_round_prices_pay_for_strangers_and_are_told():
    """What the specification's rule 7 costs, and what a merchant's caution saves."""
    [shop] = [shop for shop in SHOPS if shop.name == "any price"]
    strangers = {}
    for caution, doubts in CAUTION.items():
        tallies = [
            total(simulate(shop, checkouts=CHECKOUTS, seed=seed, doubts_round_prices=doubts).values())
            for seed in (1, 2, 3)
        ]
        strangers[caution] = sum(tally.beyond[ROUND_BESIDE_RIVAL] for tally in tallies)
    assert strangers["to the letter"] > 0
    assert strangers["cautious"] == 0


def test_without_rivals_late_payers_would_pay_for_strangers():
    """A negative control: the rule of ADR 5, turned off."""
    [shop] = [shop for shop in SHOPS if shop.name == "any price"]
    no_rivals = timedelta(0)
    # No more seeds than the first that shows it.
    assert any(
        total(simulate(shop, checkouts=CHECKOUTS, seed=seed, rival_span=no_rivals).values()).wrong for seed in (1, 2, 3)
    )


def test_without_doubt_about_anothers_digits_short_payments_would_pay_for_strangers(monkeypatch):
    """A negative control: near a price, whatever the digits say."""
    monkeypatch.setattr("checkouts.attribution.exact_rules._unless_digits", lambda *_, **__: None)
    [shop] = [shop for shop in SHOPS if shop.name == "any price"]
    whole = total(simulate(shop, checkouts=CHECKOUTS, seed=1).values())
    assert whole.wrong != []


def test_without_names_an_exact_amount_would_say_nothing_among_equal_prices(monkeypatch):
    """A negative control: rule 1 turned off, everything goes by price."""
    monkeypatch.setattr("checkouts.attribution.exact_rules._named", lambda _: None)
    [shop] = [shop for shop in SHOPS if shop.name == "one price for everybody"]
    tally = simulate(shop, checkouts=CHECKOUTS, seed=1)[Way.EXACT]
    assert tally.right < tally.payments / 2
    assert tally.ceiling == tally.payments
