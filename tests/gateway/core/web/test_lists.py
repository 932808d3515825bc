"""The filters of a list: what a query string says, what is ignored, and where tabs lead."""

from datetime import date
from typing import ClassVar

import pytest

from accounts.models import Merchant
from gateway.core.web.lists import AnyChoice, FilterChoice, FilterDay, FilterForm, HiddenChoice, SearchText


class Filters(FilterForm[Merchant]):
    tabbed_by = "status"
    parameters: ClassVar = {"since": "from"}

    status = HiddenChoice([("", "All"), ("open", "Open")])
    q = SearchText("Name", longest=9)
    kind = FilterChoice("Kind", lambda: [("a", "A"), ("b", "B")], everything="Any")
    person = AnyChoice("Person", everything="Everybody")
    since = FilterDay("From")


def test_what_is_invalid_counts_as_absent() -> None:
    filters = Filters({"status": "gone", "kind": "c", "from": "2026-13-01", "q": " tea ", "other": "x"})
    assert not filters.errors
    assert filters.cleaned_data == {"status": "", "q": "tea", "kind": "", "person": "", "since": None}
    assert filters.query() == "q=tea"
    assert filters["q"].value() == "tea"


@pytest.mark.parametrize("day", ["", "nonsense", "0001-01-01", "1999-12-31", "3000-01-01", "9999-12-31"])
def test_a_day_has_a_midnight_everywhere(day: str) -> None:
    assert Filters({"from": day}).cleaned_data["since"] is None
    assert Filters({"from": "2026-11-20"}).cleaned_data["since"] == date(2026, 11, 20)


def test_a_link_to_another_tab_keeps_the_filters_and_counts_no_rows() -> None:
    filters = Filters({"status": "open", "kind": "b", "from": "2026-11-20"})
    every, open_ = filters.tabs("/list/", {"": 3, "open": 1})
    assert every == ("All", "/list/?kind=b&from=2026-11-20", False, None)
    assert open_ == ("Open", "/list/?status=open&kind=b&from=2026-11-20", True, None)
    assert (filters.is_narrowed, filters.cleared) == (True, "status=open")


def test_tabs_alone_are_counted() -> None:
    filters = Filters({})
    assert [tab.rows for tab in filters.tabs("/list/", {"": 3})] == [3, 0]
    assert [tab.rows for tab in filters.tabs("/list/")] == [None, None]
    assert (filters.is_narrowed, filters.current_tab) == (False, "")


def test_any_text_may_be_searched_and_any_value_chosen_of_options_that_come_later() -> None:
    filters = Filters({"q": "a\0b" + "c" * 20, "person": "usr_x"})
    filters.offer("person", [("usr_x", "Ada")])
    assert filters.texts["q"] == "a\0b" + "c" * 20
    assert filters.texts["person"] == "usr_x"
    assert list(filters.fields["person"].choices) == [("", "Everybody"), ("usr_x", "Ada")]  # type: ignore[attr-defined]


def test_a_list_is_filtered_by_the_columns_of_its_fields() -> None:
    class ByName(FilterForm[Merchant]):
        name = AnyChoice("Name", everything="All")

    found = ByName({"name": "Halden"}).filter(Merchant.objects.all())
    assert "name" in str(found.query.where)
    assert not ByName({}).filter(Merchant.objects.all()).query.where
