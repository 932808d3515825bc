"""JSON laid out for people."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.json import indented

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_each_value_has_a_line_and_keeps_its_spelling() -> None:
    text = r'{"a":[],"b":{},"c":[1.50,{"x":"\u0041}, \"["}]}'
    assert indented(text).splitlines() == [
        "{",
        '  "a": [],',
        '  "b": {},',
        '  "c": [',
        "    1.50,",
        "    {",
        r'      "x": "\u0041}, \"["',
        "    }",
        "  ]",
        "}",
    ]


@pytest.mark.parametrize("text", ["{}", "[]", "1e400", '""', "null"])
def test_a_single_value_stays_as_it_is(text: str) -> None:
    assert indented(text) == text


@settings(max_examples=30)
@given(values)
def test_nothing_but_white_space_changes(value: object) -> None:
    assert indented(json.dumps(value)) == json.dumps(value, indent=2)
