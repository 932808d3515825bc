"""With every new setting of prices on, a client of the specification sees no difference: cases of creating and reading run once more,
and answers to prices in USD are compared to the byte. `script/test --all` runs all of this folder so (`conftest.py`).

Settings that list more chains are not among them: they change what is offered, as an operator wants.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from accounts.states import Mode
from tests.contract import test_create, test_read
from tests.contract.client import NEW_SETTINGS, Answer, ApiClient, client_of
from tests.contract.payments import pay
from tests.factories import make_live_chain, make_merchant, make_wallet
from tests.rates.playing import price_in, store_rates
from tests.tree import ROOT
from tests.x402.euros import take_euros
from webhooks.models import Event

pytestmark = pytest.mark.django_db

RATES: Final = {"EUR": "1.088260", "JPY": "0.006666666667", "USDC": "1", "USDT": "0.9995"}


def set_all(settings: Any) -> None:
    """Let prices be in other currencies, by rules that are not the usual ones, guard pegs, and take EURC from machines."""
    price_in(settings, "EUR", "JPY")
    settings.RATE_AGREEMENT, settings.RATE_MOST_AGE_SECONDS = "0.05", 600
    settings.RATE_SINGLE_SOURCE, settings.RATE_HOLD_SECONDS = True, 300
    settings.RATE_URL_HEADER, settings.DEPEG_GUARD = "X-Key: of-the-treasury", True
    take_euros(settings)


def turn_on(settings: Any) -> None:
    """Set all, at agreed rates."""
    set_all(settings)
    store_rates(RATES)


@pytest.fixture
def every_new_setting(settings: Any) -> None:
    """Every new setting is on."""
    turn_on(settings)


# The same cases once more. Those that need what another module prepares, or that set settings themselves, are left out.

_CASES: Final[tuple[Callable[..., None], ...]] = (
    test_create.test_a_new_checkout_has_exactly_the_promised_fields,
    test_create.test_the_keys_mode_is_the_checkouts,
    test_create.test_times_are_utc_and_thirty_minutes_apart,
    test_create.test_a_test_key_offers_all_six_chains_recommended_first,
    test_create.test_round_price_chains_say_where_and_how_much_and_the_others_wait_for_a_choice,
    test_create.test_a_live_key_offers_only_chains_with_a_wallet_a_node_and_a_factory,
    test_create.test_the_same_order_reference_amount_and_currency_answer_200_with_the_first_checkout,
    test_create.test_another_amount_or_reference_makes_a_new_checkout,
    test_create.test_a_reference_found_in_metadata_makes_creation_idempotent_too,
    test_create.test_modes_and_merchants_do_not_share_order_references,
    test_create.test_a_repeat_answers_the_existing_checkout_whatever_its_status,
    test_create.test_a_repeat_answers_the_existing_checkout_when_no_chain_can_be_offered_any_more,
    test_create.test_creation_is_one_statement_and_a_repeat_one_more_if_an_amount_may_be_chosen,
    test_create.test_the_longest_of_everything_is_kept,
    test_create.test_unknown_fields_are_ignored,
    test_create.test_metadata_comes_back_as_it_was_sent,
    test_create.test_references_are_found_in_metadata_and_those_beside_it_win,
    test_read.test_a_new_checkout_reads_as_it_was_created,
    test_read.test_the_tolerance_is_one_per_cent_of_larger_prices,
    test_read.test_a_repeated_creation_shows_the_checkout_as_it_is_now,
    test_read.test_an_empty_list_has_all_four_fields,
    test_read.test_totals_are_right_after_every_status,
    test_read.test_totals_follow_a_checkout_through_all_its_moves,
    test_read.test_a_repeat_and_a_refusal_count_nothing,
)


@pytest.mark.usefixtures("every_new_setting")
class TestEveryNewSetting:
    """The cases, by their names."""


for _case in _CASES:
    setattr(TestEveryNewSetting, _case.__name__, staticmethod(_case))


# The same bytes.


def test_the_whole_folder_runs_with_the_settings_where_everything_is_run() -> None:
    script = (ROOT / "script" / "test").read_text().replace("\\\n", "")
    [line] = [one for one in script.splitlines() if f"{NEW_SETTINGS}=1" in one]
    # No marker leaves a test out, and no file is named.
    assert line.endswith(" --dist loadgroup tests/contract")
    assert line.count(" -m ") == 1


_VARYING: Final = re.compile(
    r"chk_(?:test|live)_[0-9A-Za-z]+|/c/[0-9A-Za-z]+|0x[0-9a-fA-F]{40}|\d{4}-\d\d-\d\dT[\d:.]+Z"
)
_USD: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"amount": "25"},
    {"amount": "0.10"},
    {"amount": "1000000.00"},
    {"order_ref": "1001", "metadata": {"price": 1.10}},
    {"order_ref": "1001", "metadata": {"price": 1.10}},
    {"escrow": True},
    {"expires_in": 300},
    {"expires_in": 86400},
    {"amount": "0.09"},
    {"amount": "1000000.01"},
    {"amount": "25.001"},
    {"amount": 25},
    {"amount": None},
    {"currency": None},
    {"expires_in": 299},
    {"expires_in": 86401},
    {"expires_in": "1800"},
)
_EUROS: Final = {"amount": "23.00", "currency": "EUR"}


def shop_of(mode: Mode) -> ApiClient:
    """A key of a new merchant, with wallets on Base and Polygon."""
    merchant = make_merchant()
    for chain in ("base", "polygon"):
        make_live_chain(chain)
        make_wallet(merchant, chain)
    return client_of(merchant, mode)


def said(mode: Mode, wanted: Iterable[dict[str, Any]]) -> list[tuple[int, str]]:
    """What a new shop is answered to creations, to reading the first of them, and to lists, without what is new each time."""
    shop = shop_of(mode)
    found: list[Answer] = [shop.create(**fields) for fields in wanted]
    made = [answer.body["id"] for answer in found if answer.status in (200, 201)]
    found += [shop.get(f"/checkouts/{checkout_id}") for checkout_id in made[:1]]
    found += [shop.get("/checkouts"), shop.get("/chains")]
    return [(answer.status, _VARYING.sub("_", answer.raw.decode())) for answer in found]


@pytest.mark.parametrize("mode", list(Mode))
def test_answers_to_prices_in_usd_are_the_same_bytes(settings: Any, mode: Mode) -> None:
    before = said(mode, _USD)
    turn_on(settings)
    assert said(mode, _USD) == before
    assert {status for status, _ in before} == {200, 201, 400}


def test_the_comparison_finds_a_difference(settings: Any) -> None:
    before = said(Mode.TEST, [_EUROS])
    turn_on(settings)
    after = said(Mode.TEST, [_EUROS])
    assert (before[0][0], after[0][0]) == (400, 201)
    assert before != after


def test_events_about_prices_in_usd_have_the_same_fields(settings: Any) -> None:
    def told() -> list[str]:
        shop = shop_of(Mode.LIVE)
        pay(shop.created()["id"])
        event = Event.objects.filter(merchant=shop.merchant).latest("pk")
        return re.findall(r'"(\w+)":', bytes(event.body).decode())

    before = told()
    turn_on(settings)
    assert told() == before
    assert "quote" not in before
