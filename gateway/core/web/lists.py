"""Lists of the dashboard: the form that reads the filters of a query string, the fields of such forms, and counted tabs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from django import forms
from django.db.models import Model, Q, QuerySet, TextChoices
from django.utils.translation import pgettext, pgettext_lazy

from gateway.core.texts import Spoken, team_words
from gateway.core.times import midnight, parse_day

M = TypeVar("M", bound=Model)

Options = Iterable[tuple[str, Spoken]]
"""Values and their labels."""

_EMPTY: Final = ("", None)


class Tab(NamedTuple):
    """A tab above a list, and the number of its rows if that is to be shown."""

    label: str
    url: str
    is_current: bool
    rows: int | None = None


class FilterForm(forms.Form, Generic[M]):
    """The filters of a list, read from an untrusted query string. Invalid ones count as absent: the form has no errors.

    `texts` are the valid filters by parameter, `cleaned_data` their values by field. `tabbed_by` names the field that the
    list's tabs choose, if it has tabs. `parameters` are the names of fields in the query string where they differ.
    """

    tabbed_by: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, str]] = {}

    def __init__(self, query: Mapping[str, str]) -> None:
        super().__init__(query, auto_id="filter-%s", use_required_attribute=False)
        if self.errors:
            invalid = {self.add_prefix(name) for name in self.errors}
            self.data = {name: text for name, text in query.items() if name not in invalid}
            self.full_clean()
        self.texts = {self.add_prefix(name): _text(value) for name, value in self.cleaned_data.items()}
        # Fields show what they filter by, not what the query string had.
        self.data = self.texts

    def add_prefix(self, field_name: str) -> str:
        """Return the parameter of a field."""
        return self.parameters.get(field_name, field_name)

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter besides the tab applies."""
        return any(value not in _EMPTY for name, value in self.cleaned_data.items() if name != self.tabbed_by)

    @property
    def current_tab(self) -> str:
        """The value of the current tab; empty for the first one, and for a list without tabs."""
        return self.texts.get(self.tabbed_by, "")

    @property
    def cleared(self) -> str:
        """The query string of the current tab without other filters."""
        return urlencode({self.tabbed_by: self.current_tab} if self.current_tab else {})

    def filter(self, found: QuerySet[M]) -> QuerySet[M]:
        """Return the rows that match. Each field filters the column of its name, unless a list's form says otherwise."""
        return found.filter(**{name: value for name, value in self.cleaned_data.items() if value not in _EMPTY})

    def applied(self, **changed: str) -> dict[str, str]:
        """Return the parameters that differ from their defaults, with some changed."""
        texts = self.texts | changed
        defaults = {self.add_prefix(name): ("", _text(field.initial)) for name, field in self.fields.items()}
        return {name: texts[name] for name, default in defaults.items() if texts[name] not in default}

    def query(self, **changed: str) -> str:
        """Return the query string of the same list, with some parameters changed."""
        return urlencode(self.applied(**changed))

    def offer(self, name: str, options: Options) -> None:
        """Set the options of a choice that depends on the merchant."""
        self.fields[name].choices = [("", str(self.fields[name].everything)), *options]  # type: ignore[attr-defined]

    def tabs(self, address: str, counts: Mapping[str, int] | None = None) -> list[Tab]:
        """Return the tabs of the list at an address. The counts, by tab, do not fit other filters, and are left out then."""
        counted = None if self.is_narrowed else counts
        return [
            Tab(
                label,
                f"{address}?{self.query(**{self.tabbed_by: value})}",
                is_current=value == self.current_tab,
                rows=None if counted is None else counted.get(value, 0),
            )
            for value, label in _translated(self.fields[self.tabbed_by].choices)  # type: ignore[attr-defined]
        ]


class FilterChoice(forms.ChoiceField):
    """One of some values, or all. The options may be a function, which is called for each form; others have labels in English."""

    def __init__(self, label: Spoken, options: Options | Callable[[], Options] = (), *, everything: Spoken) -> None:
        def choices() -> list[tuple[str, Spoken]]:
            return [("", str(everything)), *(options() if callable(options) else _translated(options))]

        super().__init__(label=label, choices=choices, required=False)
        self.everything = everything


class AnyChoice(FilterChoice):
    """A choice whose options are offered later: any value is valid, and the form says what it finds."""

    def valid_value(self, value: str) -> bool:
        """Accept every value."""
        return True


class HiddenChoice(forms.ChoiceField):
    """One of some values that the page draws itself, such as its tabs. The options may be a function."""

    def __init__(self, options: Options | Callable[[], Options]) -> None:
        super().__init__(choices=options, required=False, widget=forms.HiddenInput)


class SearchText(forms.CharField):
    """A text to search for, without white space around it. Any text is valid: the list's form says what it finds."""

    is_text: Final = True

    def __init__(self, label: Spoken, *, longest: int, **attributes: Spoken) -> None:
        shown = {"type": "search", "id": "filter-text", "maxlength": str(longest)} | attributes
        super().__init__(label=label, required=False, widget=forms.TextInput(attrs=shown))
        self.validators.clear()


class FilterDay(forms.Field):
    """A day as `2026-11-20`, or None. In which time zone, the list's form says."""

    def __init__(self, label: Spoken) -> None:
        super().__init__(label=label, required=False, widget=forms.TextInput(attrs={"type": "date"}))

    def to_python(self, value: Any) -> date | None:
        """Read the day."""
        if not value:
            return None
        day = parse_day(value)
        if day is None:
            raise forms.ValidationError(pgettext("team", "Enter a day, such as 2026-11-20."))
        return day


class NamedDays(TextChoices):
    """Days that are named from today."""

    TODAY = "today", pgettext_lazy("team", "Today")
    YESTERDAY = "yesterday", pgettext_lazy("team", "Yesterday")
    WEEK = "week", pgettext_lazy("team", "Last 7 days")
    MONTH = "month", pgettext_lazy("team", "This month")
    LAST_MONTH = "last_month", pgettext_lazy("team", "Last month")


def span_of(days: NamedDays, today: date) -> tuple[date, date]:
    """Return the first and last day of some days that are named from today."""
    yesterday, first = today - timedelta(days=1), today.replace(day=1)
    before = first - timedelta(days=1)
    return {
        NamedDays.TODAY: (today, today),
        NamedDays.YESTERDAY: (yesterday, yesterday),
        NamedDays.WEEK: (today - timedelta(days=6), today),
        NamedDays.MONTH: (first, today),
        NamedDays.LAST_MONTH: (before.replace(day=1), before),
    }[days]


@dataclass(frozen=True, slots=True)
class Times:
    """The times `since <= time < until`, in UTC; None for no bound."""

    since: datetime | None
    until: datetime | None

    def filter(self, field: str) -> Q:
        """Return the condition that a field is in them."""
        bounds = {f"{field}__gte": self.since, f"{field}__lt": self.until}
        return Q(**{name: bound for name, bound in bounds.items() if bound is not None})


def times_of(first: date | None, last: date | None, zone: tzinfo) -> Times:
    """Return the times of the days from the first to the last one in a time zone; None for no bound."""
    return Times(
        None if first is None else midnight(first, zone),
        None if last is None else midnight(last + timedelta(days=1), zone),
    )


def _translated(options: Options) -> Iterable[tuple[str, str]]:
    """Return labels in the current language: those in English are looked up, and lazy ones are said."""
    return [(value, team_words(label) if label and isinstance(label, str) else str(label)) for value, label in options]


def _text(value: object) -> str:
    return "" if value is None else str(value)
