"""Hiding the name in an e-mail address."""

import pytest

from gateway.core.email_masks import masked


@pytest.mark.parametrize(
    ("email", "shown"),
    [
        ("ana@halden.example", "a•••@halden.example"),
        ('"a@b"@halden.example', '"•••@halden.example'),
        ("", ""),
        ("no address", ""),
    ],
)
def test_one_letter_of_the_name_is_shown(email: str, shown: str) -> None:
    assert masked(email) == shown
