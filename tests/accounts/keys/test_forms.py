"""What a key may be called."""

import pytest

from accounts.keys.forms import KeyForm


def test_a_key_is_called_by_one_line() -> None:
    form = KeyForm({"name": " Web shop "})
    assert form.is_valid()
    assert form.cleaned_data["name"] == "Web shop"


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "Web\u202eshop"])
def test_no_name_a_long_one_and_a_hidden_one_are_refused(name: str) -> None:
    assert "name" in KeyForm({"name": name}).errors
