"""The guard counts a guess before it is looked at: five, and no more, however many come at once."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.sessions.models import Session
from django.db.models import F
from django.test import Client
from django.utils import timezone

from accounts.errors import LockedError
from accounts.login import guard
from accounts.login.guard import MOST_FAILURES, PER_ADDRESS, Secret, forget_old_logins
from accounts.login.people import vouch_for
from accounts.models import Guesses, User
from accounts.tasks import forget_old_logins_task
from gateway.core.api.rate_limits import Limit
from tests.accounts.logins import try_login
from tests.concurrency.races import crew
from tests.dashboard.people import PASSWORD
from tests.factories import NOON, make_user
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db


AT_ONCE = 40
EMAIL = "ada@example.test"


def admitted(email: str = EMAIL, secret: Secret = Secret.PASSWORD, **later: int) -> bool:
    """Whether a guess is looked at, so much later than noon."""
    try:
        guard.admit(email, secret, now=NOON + timedelta(**later))
    except LockedError:
        return False
    return True


@pytest.mark.django_db
def test_five_guesses_are_looked_at_and_then_none_for_fifteen_minutes() -> None:
    assert [admitted(minutes=minute) for minute in range(7)] == [True] * 5 + [False] * 2
    assert not admitted(minutes=18, seconds=59)
    assert admitted(minutes=19)


@pytest.mark.django_db
def test_guessing_while_it_is_locked_does_not_make_the_lock_longer() -> None:
    for minute in range(18):
        admitted(minutes=minute)
    assert [admitted(minutes=19) for _ in range(6)] == [True] * 5 + [False]


@pytest.mark.django_db
def test_the_lock_says_how_many_minutes_are_left() -> None:
    for _ in range(5):
        admitted()
    left = {}
    for seconds in (0, 1, 60, 839, 841, 899):
        with pytest.raises(LockedError) as refused:
            guard.admit(EMAIL, Secret.PASSWORD, now=NOON + timedelta(seconds=seconds))
        left[seconds] = refused.value.minutes
    assert left == {0: 15, 1: 15, 60: 14, 839: 2, 841: 1, 899: 1}


@pytest.mark.django_db
def test_a_count_that_nobody_added_to_begins_anew() -> None:
    assert all(admitted() for _ in range(4))
    assert all(admitted(minutes=15) for _ in range(5))
    assert not admitted(minutes=15)


@pytest.mark.django_db
def test_knowing_the_password_does_not_help_to_guess_the_code() -> None:
    for _ in range(5):
        assert admitted(secret=Secret.CODE)
        admitted(secret=Secret.PASSWORD)
        guard.forgive(EMAIL, Secret.PASSWORD)
    assert not admitted(secret=Secret.CODE)
    assert admitted(secret=Secret.PASSWORD)


@pytest.mark.django_db
@pytest.mark.parametrize("other", ["ADA@example.test", " ada@example.test", "\u0131@x.test"])
def test_another_spelling_is_no_other_person(other: str) -> None:
    first = EMAIL if "ada" in other.lower() else "I@x.test"
    for _ in range(5):
        admitted(first)
    assert not admitted(other)


@pytest.mark.django_db
def test_what_is_stored_names_nobody_and_is_forgotten() -> None:
    admitted()
    assert EMAIL.encode() not in bytes(Guesses.objects.get().digest)
    assert guard.forget_old_guesses(now=NOON + timedelta(minutes=30)) == 0
    assert guard.forget_old_guesses(now=NOON + timedelta(minutes=31)) == 1


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were compared with a hash, or hashed for nobody; the limit per address is out of the way."""
    generous = Limit("account", 1000)
    monkeypatch.setattr("accounts.login.guard.PER_ADDRESS", generous)
    seen: list[str] = []
    lock = threading.Lock()

    def note(method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any, password: str, *args: Any) -> Any:
            with lock:
                seen.append(password)
            return method(self, password, *args)

        return noted

    for name in ("verify", "encode"):
        monkeypatch.setattr(Argon2PasswordHasher, name, note(getattr(Argon2PasswordHasher, name)))
    return seen


def guess_at_once(email: str) -> list[str]:
    """The pages that forty parallel wrong guesses got."""
    guesses = [lambda number=number: try_login(email, f"guess {number}").text for number in range(AT_ONCE)]
    with crew(AT_ONCE) as threads:
        return threads.together(*guesses)


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_known", [True, False])
def test_of_forty_guesses_at_once_five_are_looked_at(is_known: bool, looked_at: list[str]) -> None:
    if is_known:
        vouch_for(make_user(EMAIL))
    looked_at.clear()
    pages = guess_at_once(EMAIL)
    assert len([page for page in pages if "Wait 15 minutes" in page]) == AT_ONCE - 5
    assert len([page for page in pages if "is wrong" in page]) == 5
    assert len({text for text in looked_at if text.startswith("guess")}) == 5


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_counting_after_looking_would_let_more_guesses_through(
    looked_at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the same guesses against a guard that reads first and writes later."""
    monkeypatch.setattr(guard, "admit", admit_by_reading_first)
    vouch_for(make_user(EMAIL))
    looked_at.clear()
    guess_at_once(EMAIL)
    assert len({text for text in looked_at if text.startswith("guess")}) > 5


def admit_by_reading_first(email: str, secret: Secret, *, now: Any) -> None:
    """What looks right until two come at once."""
    digest = guard._digest_of(email, secret)
    row, _ = Guesses.objects.get_or_create(digest=digest, defaults={"failures": 0, "last_at": now})
    _MEETING.wait(PATIENCE_SECONDS)
    if row.failures >= MOST_FAILURES:
        raise LockedError(15)
    Guesses.objects.filter(digest=digest).update(failures=F("failures") + 1)


_MEETING = threading.Barrier(AT_ONCE)


# How much one address may send to the pages of people.


def test_what_is_posted_is_bounded_and_looking_is_not() -> None:
    client = Client()
    # They are counted by the minute.
    with time_machine.travel(timezone.now().replace(second=0), tick=False):
        for _ in range(PER_ADDRESS.most):
            assert client.post("/account/none/").status_code != 429
        assert client.post("/account/none/").status_code == 429
    assert client.get("/account/login/").status_code == 200


# Logins and guesses that are over are forgotten.


def logged_in(person: User, browser: str = "Firefox") -> Client:
    client = Client(headers={"user-agent": browser})
    try_login(person.email, PASSWORD, client)
    return client


def test_what_is_over_is_forgotten(member: User) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False) as clock:
        logged_in(member)
        try_login("nobody@example.test", "wrong")
        clock.shift(timedelta(days=15))
        logged_in(member)
        assert forget_old_logins(now=timezone.now()) == 1
        assert Session.objects.count() == UserSession.objects.count() == 1
        assert not Guesses.objects.exists()
        assert forget_old_logins_task() == 0
