"""Serializers that describe a resource once: they read requests, write answers, and make the reference and the forms (docs/adr/0026).

An `Answer` declares a resource's fields. A `Body` reads a request by the same fields; it is declared as a subclass of the answer,
or alone. drf-spectacular describes both, and `ApiField.form_field` makes a dashboard form's field.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from decimal import Decimal
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeVar

import orjson
from django import forms
from django.db.models import TextChoices
from rest_framework import serializers as s

from gateway.core import json
from gateway.core.api.fields import flag_of, metadata_of, missing, refuse, text_of, url_of, usd_of
from gateway.core.money import format_units, format_usd
from gateway.core.outbound import check_destination, check_url, url_policy
from gateway.core.texts import Spoken
from gateway.core.times import iso, iso_or_none

Field = s.Field[Any, Any, Any, Any]
Writer = Callable[[Any], Any]
S = TypeVar("S", bound=s.Serializer[Any])

_AMOUNT: Final = {"inputmode": "decimal", "autocomplete": "off", "placeholder": "0.00"}
_URL: Final = {
    "inputmode": "url",
    "autocomplete": "off",
    "autocapitalize": "none",
    "spellcheck": "false",
    "placeholder": "https://",
}
_JSON: Final = {"rows": 5, "spellcheck": "false", "class": "mono"}


class ApiField(s.Field[Any, Any, Any, Any]):
    """A field of answers that bodies can have too. In a body, null is the same as absent.

    `required`, `allow_null` and `max_length` are about bodies; an answer always has the field, and null instead of an empty value
    if `allow_null`. `read_only` fields are in answers alone. `help_text` describes the field in answers, `body_help` in bodies.
    `label`, `hint` and `style` are for the dashboard's form.
    """

    absent: Any = ""
    """The value to store if a body has none."""
    answers_null: ClassVar[bool] = True
    """Whether an answer has null instead of `absent`, if the field allows null."""
    form_style: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self, *args: Any, label: Spoken = "", hint: Spoken = "", body_help: str = "", absent: Any = None, **kwargs: Any
    ) -> None:
        # Without `label`, which drf-spectacular would write into the reference.
        super().__init__(*args, **kwargs)
        self.form_label, self.hint, self.body_help = label, hint, body_help
        if absent is not None:
            self.absent = absent

    @property
    def name(self) -> str:
        """The parameter that errors name."""
        return self.field_name or ""

    def in_answers(self) -> Field:
        """Return the field as answers have it."""
        self.required, self.read_only, self.validators = True, False, []
        self.allow_null = self.allow_null and self.answers_null
        return self

    def in_bodies(self) -> Field:
        """Return the field as bodies have it."""
        self.help_text = self.body_help
        return self

    def read(self, body: Mapping[str, Any]) -> Any:
        """Return the value to store. Raises InvalidRequestError naming the parameter."""
        value = body.get(self.name)
        if value is not None:
            return self.to_internal_value(value)
        if self.required:
            raise missing(self.name)
        return self.absent

    def writer(self) -> Writer | None:
        """Return what makes the answer's value of a stored one; None if they are the same."""
        return _or_null if self.allow_null else None

    def as_sent(self, value: Any) -> Any:
        """Return the body's value that stores `value`."""
        write = self.writer()
        return value if write is None else write(value)

    def form_field(self, **limits: Any) -> forms.Field:
        """Return the field of a form, with text. It checks `limits`; the body checks the rest."""
        style = {**self.form_style, **self.style}
        widget = forms.Textarea(attrs=style) if "rows" in style else forms.TextInput(attrs=style)
        return forms.CharField(
            label=self.form_label, required=self.required, help_text=self.hint, widget=widget, **limits
        )


class Text(ApiField, s.CharField):
    """A text of at most `max_length` characters. If it is required, a blank one counts as absent."""

    def __init__(self, *, trim_whitespace: bool = False, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=trim_whitespace, **kwargs)

    def read(self, body: Mapping[str, Any]) -> str:
        """Return the text; "" if it is absent."""
        text: str = super().read(body)
        if self.required and not text.strip():
            raise missing(self.name)
        return text

    def to_internal_value(self, value: Any) -> str:
        """Return the text. Raises InvalidRequestError (parameter_invalid, parameter_too_long)."""
        text = text_of(value, self.name, self.max_length)
        return text.strip() if self.trim_whitespace else text

    def form_field(self, **limits: Any) -> forms.Field:
        """Return a field that takes no more characters."""
        return super().form_field(max_length=self.max_length, **limits)


class WebUrl(ApiField, s.URLField):
    """An address that people are sent to; one that Florin connects to must be `public`."""

    form_style = _URL

    def __init__(self, *, public: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check = check_destination if public else check_url

    def to_internal_value(self, value: Any) -> str:
        """Return the URL. Raises InvalidRequestError (url_invalid, url_forbidden)."""
        return url_of(value, self.name, self.check, url_policy())


class Usd(ApiField, s.CharField):
    """An amount in USD from `low` to `high`: a string with at most two decimals, never a number."""

    absent = None
    form_style = _AMOUNT
    low: ClassVar[Decimal]
    high: ClassVar[Decimal]

    def to_internal_value(self, value: Any) -> Decimal:
        """Return the amount. Raises InvalidRequestError (amount_not_string, amount_invalid, amount_out_of_range)."""
        return usd_of(value, self.name, self.low, self.high)

    def writer(self) -> Writer:
        """Return what writes two decimals."""
        return _usd_or_null


class Units(ApiField, s.CharField):
    """Base units of an accepted token, written with six decimals."""

    def writer(self) -> Writer:
        """Return what writes the amount."""
        return format_units


class EnumField(ApiField, s.ChoiceField):
    """One of a TextChoices. `code` is the error's code for another value."""

    def __init__(self, choices: type[TextChoices], *, code: str = "parameter_invalid", **kwargs: Any) -> None:
        super().__init__(choices.choices, **kwargs)
        self.kind, self.code = choices, code

    def to_internal_value(self, value: Any) -> TextChoices:
        """Return the member. Raises InvalidRequestError."""
        if not isinstance(value, str) or value not in self.kind.values:
            known = ", ".join(self.kind.values)
            raise refuse(self.name, f"{self.name} must be one of {known}.", self.code)
        return self.kind(value)

    def form_field(self, **_limits: Any) -> forms.Field:
        """Return a select."""
        return forms.ChoiceField(
            label=self.form_label, choices=self.kind.choices, initial=self.initial, help_text=self.hint
        )


class Count(ApiField, s.IntegerField):
    """A whole number from `low` to `high`."""

    def __init__(self, *, low: int, high: int, **kwargs: Any) -> None:
        super().__init__(min_value=low, max_value=high, **kwargs)
        self.low, self.high = low, high

    def to_internal_value(self, value: Any) -> int:
        """Return the number. Raises InvalidRequestError."""
        # A boolean is an int in Python, and not in JSON.
        if type(value) is not int or not self.low <= value <= self.high:
            raise refuse(self.name, f"{self.name} must be a whole number from {self.low} to {self.high}.")
        return value


class Flag(ApiField, s.BooleanField):
    """True or false; false if absent."""

    absent = False
    answers_null = False

    def to_internal_value(self, value: Any) -> bool:
        """Return the flag. Raises InvalidRequestError."""
        return flag_of(value, self.name)

    def form_field(self, **_limits: Any) -> forms.Field:
        """Return a check box."""
        return forms.BooleanField(label=self.form_label, required=False, help_text=self.hint)


class Metadata(ApiField, s.DictField):
    """A JSON object, stored as compact text with numbers as the merchant spelled them."""

    absent = "{}"
    answers_null = False
    form_style = _JSON

    def to_internal_value(self, value: Any) -> str:
        """Return the text. Raises InvalidRequestError (parameter_invalid, metadata_too_large)."""
        return metadata_of(value)

    def writer(self) -> Writer:
        """Return what puts the text into an answer as JSON."""
        return orjson.Fragment

    def as_sent(self, value: str) -> Any:
        """Return the object."""
        return json.loads(value.encode())


class LiveMode(ApiField, s.BooleanField):
    """Whether the object's mode is live."""

    def __init__(self) -> None:
        super().__init__(source="mode", read_only=True)

    def writer(self) -> Writer:
        """Return what compares a mode."""
        return "live".__eq__


class Moment(ApiField, s.DateTimeField):
    """A time in UTC, with microseconds."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, **kwargs)

    def writer(self) -> Writer:
        """Return what writes a time."""
        return iso_or_none if self.allow_null else iso


class Answer(s.Serializer[Any]):
    """An object of the API, written by `of` from a row.

    An ApiField and a serializer make the answer's value of the row's attribute that `source` names; DRF's own fields only describe it.
    What a method `get_<field>` returns for the row is in the answer as it is.
    """

    def get_fields(self) -> dict[str, Field]:
        """Return the fields that answers have."""
        return {name: _in_answers(field) for name, field in _declared(self)}

    @classmethod
    def of(cls, row: Any, **given: Any) -> dict[str, Any]:
        """Return the object for a row; `given` has values, by field, that the row does not have."""
        shown = {}
        for name, get, write in _bound(cls).writers:
            value = given[name] if name in given else get(row)
            shown[name] = value if write is None else write(value)
        return shown

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Return the object for a row."""
        return self.of(instance)

    @cached_property
    def writers(self) -> list[tuple[str, Callable[[Any], Any], Writer | None]]:
        """Each field's name, what takes its value from a row, and what makes the answer's value of that.

        DRF's own loop finds this out for each value again, and takes a multiple of the time.
        """
        found: list[tuple[str, Callable[[Any], Any], Writer | None]] = []
        for name, field in self.fields.items():
            made = getattr(self, f"get_{name}", None)
            found.append((name, made, None) if made else (name, attrgetter(field.source or name), _writer(field)))
        return found


class Body(s.Serializer[Any]):
    """The body of a request. `read` stops at the first error.

    Fields are read in the order of their declaration, those of `first` before others. A method `read_<field>`, which gets the body and
    the values that were read before, replaces the field's own `read`. Fields of the answer that this body lacks are `left_out`.
    A field that is no ApiField is only described: its view reads it.
    """

    first: ClassVar[tuple[str, ...]] = ()
    left_out: ClassVar[tuple[str, ...]] = ()

    def get_fields(self) -> dict[str, Field]:
        """Return the fields that bodies have."""
        return {
            name: field.in_bodies() if isinstance(field, ApiField) else field
            for name, field in _declared(self)
            if not field.read_only and name not in self.left_out
        }

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values to store, by column. Raises InvalidRequestError naming the parameter."""
        values: dict[str, Any] = _bound(cls).to_internal_value(body)
        return values

    @classmethod
    def columns(cls) -> list[str]:
        """Return the columns that `read` has values for."""
        return [field.source or name for name, field in _bound(cls).read_fields.items()]

    @classmethod
    def as_sent(cls, row: Any) -> dict[str, Any]:
        """Return the body that would store the row's values."""
        return {
            name: field.as_sent(getattr(row, field.source or name)) for name, field in _bound(cls).read_fields.items()
        }

    @classmethod
    def form_fields(cls) -> dict[str, forms.Field]:
        """Return the fields of a form, by name: those that have a label."""
        return {name: field.form_field() for name, field in _bound(cls).read_fields.items() if field.form_label}

    def to_internal_value(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Read the fields."""
        values: dict[str, Any] = {}
        for name, field in self.read_fields.items():
            special = getattr(self, f"read_{name}", None)
            values[field.source or name] = special(body, values) if special else field.read(body)
        return values

    @cached_property
    def read_fields(self) -> dict[str, ApiField]:
        """The fields that are read, in this order."""
        names = dict.fromkeys((*self.first, *self.fields))
        return {name: field for name in names if isinstance(field := self.fields[name], ApiField)}


@cache
def _bound(serializer: type[S]) -> S:
    """Return the one instance whose fields know their names. Reading and writing leave no state in it."""
    return serializer()


def _declared(serializer: s.Serializer[Any]) -> Iterator[tuple[str, Field]]:
    """Yield copies of the declared fields. `label_` declares `label`: a class attribute can have no name of a keyword or of DRF's own."""
    for name, field in deepcopy(serializer._declared_fields).items():  # noqa: SLF001 - DRF's own `get_fields` does this
        yield name.removesuffix("_"), field


def _in_answers(field: Field) -> Field:
    if isinstance(field, ApiField):
        return field.in_answers()
    if field.read_only:
        field.required, field.read_only = True, False
    return field


def _writer(field: Field) -> Writer | None:
    if isinstance(field, ApiField):
        return field.writer()
    return field.to_representation if isinstance(field, s.BaseSerializer) else None


def _or_null(value: Any) -> Any:
    return value or None


def _usd_or_null(amount: Decimal | None) -> str | None:
    return None if amount is None else format_usd(amount)
