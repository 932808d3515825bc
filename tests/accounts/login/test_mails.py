"""The login library's mails and messages, in our words."""

import re
from pathlib import Path

import allauth
import pytest

from accounts.login.mails import LETTERS, MESSAGES, letter

LIBRARY = Path(allauth.__file__).parent


# Ways of the library that are switched off.
OFF = re.compile(r"login_code|reset_code|phone|trust|signup_by|confirm_email$")


def sent(function: str) -> set[str]:
    """The names that the library's code gives to a function of the adapter."""
    called = re.compile(rf'"((?:account|mfa|usersessions)/{function}/\w+(?:\.txt)?)"')
    sources = [*LIBRARY.glob("account/**/*.py"), *LIBRARY.glob("mfa/**/*.py")]
    names = {name for path in sources for name in called.findall(path.read_text())}
    return {name for name in names if not OFF.search(name.removesuffix(".txt"))}


def test_every_mail_of_the_library_has_our_words() -> None:
    assert len(sent("email")) > 10
    assert sent("email") - set(LETTERS) == set()


def test_every_message_of_the_library_has_our_words() -> None:
    found = {name for name in sent("messages") if "login_code" not in name}
    assert found - set(MESSAGES) == set()


@pytest.mark.parametrize("name", LETTERS)
def test_a_mail_says_something_and_leaves_nothing_unfilled(name: str) -> None:
    words = {
        "base_url": "https://pay.example",
        "ip": "192.0.2.7",
        "code": "ABCD-EFGH",
        "password_reset_url": "https://pay.example/r",
        "from_email": "a@example.test",
        "to_email": "b@example.test",
        "deleted_email": "a@example.test",
    }
    subject, text = letter(name, words)
    assert 0 < len(subject) < 80
    assert "{" not in subject + text
