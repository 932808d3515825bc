"""Lines in which nothing hides."""

import pytest
from django.core.exceptions import ValidationError

from accounts.words import LineField


@pytest.mark.parametrize("line", ["Halden Roasters", "می‌خواهم", "क्‍ष"])
def test_a_line_in_any_script_stays_as_it_is(line: str) -> None:
    assert LineField().clean(f"  {line} ") == line


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\n", "\u2028", "\ue000"])
def test_what_hides_or_turns_the_writing_around_is_refused(hidden: str) -> None:
    with pytest.raises(ValidationError, match="visible characters"):
        LineField().clean(f"a{hidden}b")
