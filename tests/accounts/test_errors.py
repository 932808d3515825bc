"""What people are told who guessed too often."""

import pytest

from accounts.errors import LockedError


@pytest.mark.parametrize(("minutes", "words"), [(1, "1 minute,"), (5, "5 minutes,")])
def test_a_lock_says_how_long_to_wait(minutes: int, words: str) -> None:
    assert words in str(LockedError(minutes))
