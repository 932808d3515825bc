"""The table of the night names what exists, and takes nothing that must be in the standard run."""

import pytest

from tests.night import NIGHT, OTHER_CASES, STANDARD, UPGRADES, invariant_tests, is_all_at_night, why_at_night
from tests.slow import MOST_LISTED, listed
from tests.test_invariants import functions_of, parsed
from tests.tree import ROOT

PLACES = [place for places in NIGHT.values() for place in places]


def is_there(place: str) -> bool:
    module, _, test = place.removesuffix(OTHER_CASES).partition("[")[0].partition("::")
    path = ROOT / module
    return path.exists() if not test else path.is_file() and test in functions_of(parsed(path))


def test_every_place_of_the_night_exists() -> None:
    assert [place for place in [*PLACES, *STANDARD] if not is_there(place)] == []
    assert not is_there("tests/browser/test_login.py::test_nobody")


def test_what_is_taken_out_again_would_be_at_night_otherwise() -> None:
    def lies_in(test: str) -> bool:
        return any(test.partition("[")[0] == place or test.startswith((f"{place}/", f"{place}::")) for place in PLACES)

    assert [test for test in STANDARD if not lies_in(test)] == []


def test_the_first_case_of_an_invariant_is_at_night_for_upgrades_alone() -> None:
    at_night = {test for test in invariant_tests() if why_at_night(test, is_first=True)}
    assert {place for place in UPGRADES if any(test.startswith(place) for test in at_night)} == set(UPGRADES)
    assert [test for test in at_night if not test.startswith(UPGRADES)] == []
    assert len(invariant_tests()) > 200


@pytest.mark.parametrize(
    ("node_id", "is_first", "at_night"),
    [
        ("tests/browser/test_phone.py::test_every_act_of_every_page_is_within_reach_on_a_phone", True, True),
        ("tests/browser/test_wallets.py::test_a_double_click_pays_once", True, False),
        ("tests/browser/test_inbox.py::test_pages_are_accessible_and_fit_the_screen[item]", False, False),
        ("tests/browser/test_inbox.py::test_pages_are_accessible_and_fit_the_screen[empty]", True, True),
        ("tests/invariants/test_money.py::test_the_machine_finds_a_planted_fault[_tell_nobody]", False, True),
        ("tests/faults/test_watchers.py::test_a_watcher_killed_in_the_middle_is_replaced[a-1]", True, False),
        ("tests/faults/test_watchers.py::test_a_watcher_killed_in_the_middle_is_replaced[b-4]", False, True),
        ("tests/contract/test_tenants.py::test_strangers_see_nothing_of_it_on_any_route[x]", False, False),
    ],
)
def test_a_place_holds_for_what_stands_in_it(node_id: str, is_first: bool, at_night: bool) -> None:
    assert bool(why_at_night(node_id, is_first=is_first)) == at_night


def test_a_module_that_is_not_imported_has_no_test_of_the_standard_run() -> None:
    modules = {path.relative_to(ROOT).as_posix(): path for path in ROOT.glob("tests/**/test_*.py")}
    left_out = [module for module in modules if is_all_at_night(module)]
    assert "tests/browser/test_phone.py" in left_out
    assert {"tests/browser/test_wallets.py", "tests/test_night.py"}.isdisjoint(left_out)
    for module in left_out:
        for test in functions_of(parsed(modules[module])):
            assert why_at_night(f"{module}::{test}", is_first=True)


def test_few_tests_may_take_longer_and_each_says_why() -> None:
    assert len(listed()) <= MOST_LISTED
    assert [test for test in listed() if not is_there(test)] == []
    assert [test for test in listed() if "::" in test and why_at_night(test, is_first=True)] == []
    assert [test for test, why in listed().items() if len(why.split()) < 4] == []
