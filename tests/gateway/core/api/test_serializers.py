"""A resource that is declared once: what it reads, writes, describes, and shows in a form."""

from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django import forms
from rest_framework import serializers as s

from gateway.core import json
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.serializers import Answer, Body, EnumField, Flag, LiveMode, Metadata, Moment, Text, Usd, WebUrl
from links.states import Interval


class Price(Usd):
    low, high = Decimal(1), Decimal(100)


class Maker(Answer):
    name = s.CharField()


class Cup(Answer):
    """A cup."""

    id = s.CharField(source="public_id", read_only=True)
    title = Text(max_length=5, label="Title", hint="Its name.")
    label_ = Text(
        source="tag", required=False, allow_null=True, body_help="For requests.", label="Label", style={"rows": 2}
    )
    price = Price(required=False, allow_null=True, help_text="For answers.", label="Price")
    often = EnumField(Interval, required=False, code="often_invalid", absent=Interval.WEEK, label="How often")
    page = WebUrl(public=True, required=False, allow_null=True)
    is_full = Flag(required=False, allow_null=True, label="Full")
    metadata = Metadata(required=False, allow_null=True)
    maker = Maker(read_only=True)
    livemode = LiveMode()
    made_at = Moment()
    sold_at = Moment(allow_null=True)
    shown = s.CharField(read_only=True)
    count = s.IntegerField(read_only=True)

    def get_shown(self, cup: Any) -> str:
        return f"the {cup.title}"


class NewCup(Body, Cup):
    """Body of a new cup."""

    first = ("price",)
    left_out = ("page",)
    shop = s.CharField(required=False)

    def read_often(self, body: Any, values: Any) -> Any:
        return Interval.YEAR if values["price"] == 7 else self.read_fields["often"].read(body)


CUP = SimpleNamespace(
    public_id="cup_1",
    title="Blue",
    tag="",
    price=Decimal(5),
    often="week",
    page="",
    is_full=False,
    metadata='{"a":1.10}',
    maker=SimpleNamespace(name="Ana"),
    mode="live",
    made_at=datetime(2026, 11, 20, tzinfo=UTC),
    sold_at=None,
)


def test_an_answer_has_each_field_and_null_instead_of_nothing() -> None:
    said = Cup.of(CUP, count=3)
    assert json.dumps(said.pop("metadata")) == b'{"a":1.10}'
    assert said == {
        "id": "cup_1",
        "title": "Blue",
        "label": None,
        "price": "5.00",
        "often": "week",
        "page": None,
        "is_full": False,
        "maker": {"name": "Ana"},
        "livemode": True,
        "made_at": "2026-11-20T00:00:00.000000Z",
        "sold_at": None,
        "shown": "the Blue",
        "count": 3,
    }


def test_a_body_is_read_into_columns_with_what_is_absent() -> None:
    assert NewCup.read({"title": "Red", "price": None, "id": "x", "shop": 5}) == {
        "price": None,
        "title": "Red",
        "tag": "",
        "often": Interval.WEEK,
        "is_full": False,
        "metadata": "{}",
    }
    assert NewCup.columns() == ["price", "title", "tag", "often", "is_full", "metadata"]


def test_a_rule_of_the_body_sees_what_was_read_before() -> None:
    assert NewCup.read({"title": "Red", "price": "7", "often": 5})["often"] == Interval.YEAR


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({}, "title", "parameter_missing"),
        ({"title": " "}, "title", "parameter_missing"),
        ({"title": "Yellow"}, "title", "parameter_too_long"),
        ({"title": 5, "price": 5}, "price", "amount_not_string"),
        ({"title": "Red", "price": "101"}, "price", "amount_out_of_range"),
        ({"title": "Red", "label": 5, "often": 5}, "label", "parameter_invalid"),
        ({"title": "Red", "often": "day"}, "often", "often_invalid"),
        ({"title": "Red", "is_full": 1}, "is_full", "parameter_invalid"),
        ({"title": "Red", "metadata": []}, "metadata", "parameter_invalid"),
    ],
)
def test_the_first_error_ends_the_reading(body: dict[str, Any], param: str, code: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        NewCup.read(body)
    assert (caught.value.param, caught.value.code) == (param, code)


def test_what_a_row_was_made_of_can_be_sent_again() -> None:
    sent = NewCup.as_sent(CUP)
    assert {name: sent[name] for name in ("price", "title", "label", "often")} == {
        "price": "5.00",
        "title": "Blue",
        "label": None,
        "often": "week",
    }
    assert NewCup.read(sent) == {name: getattr(CUP, name) for name in NewCup.columns()}


def test_labelled_fields_make_a_form() -> None:
    fields = NewCup.form_fields()
    assert list(fields) == ["price", "title", "label", "often", "is_full"]
    title = fields["title"]
    assert isinstance(title, forms.CharField)
    assert (title.label, title.help_text, title.required, title.max_length) == ("Title", "Its name.", True, 5)
    assert isinstance(fields["label"].widget, forms.Textarea)
    assert isinstance(fields["often"], forms.ChoiceField)
    assert isinstance(fields["is_full"], forms.BooleanField)


def test_answer_and_body_are_described_apart() -> None:
    answer, body = Cup().fields, NewCup().fields
    assert [name for name, field in answer.items() if not field.required] == []
    assert (answer["price"].help_text, body["price"].help_text) == ("For answers.", "")
    assert (answer["label"].help_text, body["label"].help_text) == (None, "For requests.")
    assert (answer["title"].validators, len(body["title"].validators) > 0) == ([], True)
    assert (answer["is_full"].allow_null, body["is_full"].allow_null) == (False, True)
    assert set(answer) - set(body) == {"id", "page", "maker", "livemode", "made_at", "sold_at", "shown", "count"}
    assert set(body) - set(answer) == {"shop"}
