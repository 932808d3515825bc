"""What templates of the dashboard need beside their view's context."""

import pytest

from accounts.templatetags.dashboard import initials


@pytest.mark.parametrize(
    ("name", "letters"),
    [("Halden Roasters", "HR"), ("ana@halden.example", "AH"), ("one two three", "OT"), ("& sons", "S"), ("!!!", "?")],
)
def test_a_name_is_stood_for_by_its_first_letters(name: str, letters: str) -> None:
    assert initials(name) == letters
