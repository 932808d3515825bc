"""Hashing passwords costs memory, so that a process does a few at a time, and tells the others to come back."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.test import Client

from accounts.login import hashers
from accounts.login.people import vouch_for
from accounts.models import User
from tests.accounts.logins import is_logged_in, try_login
from tests.dashboard.people import PASSWORD
from tests.factories import make_user
from tests.tree import ROOT
from tests.waiting import wait_until

OWASP = "$argon2id$v=19$m=19456,t=2,p=1$"
HASHER = "accounts.login.hashers.LimitedArgon2Hasher"

# One wrong password for each of fifty people at once, in a process whose memory nobody else uses.
FIFTY = """
import json, resource, sys, threading, time
import django
django.setup()
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password, make_password
from gateway.core.api.errors import RateLimitError

older = Argon2PasswordHasher().encode("right", "saltsaltsalt") if sys.argv[1] == "older" else make_password("right")
ready = threading.Barrier(51)
answers = []

def guess():
    ready.wait()
    try:
        answers.append(check_password("wrong", older))
    except RateLimitError as error:
        answers.append(error.status)

threads = [threading.Thread(target=guess) for _ in range(50)]
for thread in threads:
    thread.start()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ready.wait()
began = time.monotonic()
for thread in threads:
    thread.join()
seconds = time.monotonic() - began
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps({"mb": grown / 1024, "seconds": seconds, "answers": answers}))
"""


def fifty_at_once(kind: str, environment: dict[str, str]) -> dict[str, Any]:
    """The memory and the time that fifty wrong passwords at once take, and how each was answered."""
    ran = subprocess.run(
        [sys.executable, "-c", FIFTY, kind], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    measured: dict[str, Any] = json.loads(ran.stdout)
    return measured


@pytest.fixture
def environment() -> dict[str, str]:
    """Settings of a process of its own, which needs no engine."""
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "FLORIN_ENV": "development",
        "DJANGO_SETTINGS_MODULE": "gateway.settings",
    }


@pytest.mark.unmeasured
@pytest.mark.parametrize("kind", ["present", "older"])
def test_fifty_logins_at_once_take_little_memory_and_time(kind: str, environment: dict[str, str]) -> None:
    took = fifty_at_once(kind, environment)
    assert took["mb"] < 200
    assert took["seconds"] < 15
    assert len(took["answers"]) == 50
    # Who has no turn within two seconds is told so; nobody is let in.
    assert set(took["answers"]) <= {False, 429}
    assert False in took["answers"]


def test_four_hashes_are_made_at_once_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    hasher, done = hashers.LimitedArgon2Hasher(), threading.Event()
    older = Argon2PasswordHasher().encode("right", "saltsaltsalt")
    present = hasher.encode("right", "saltsaltsalt")
    running: list[str] = []

    def verify(self: Any, password: str, encoded: str) -> bool:
        running.append(encoded)
        return not done.wait(60)

    monkeypatch.setattr(Argon2PasswordHasher, "verify", verify)
    # Nobody gives up before all have been counted.
    monkeypatch.setattr(hashers, "WAIT_SECONDS", 60.0)
    threads = [threading.Thread(target=hasher.verify, args=("wrong", encoded)) for encoded in [present, older] * 10]
    for thread in threads:
        thread.start()
    queues = [pool._work_queue for pool in (hashers._present, hashers._older)]
    try:
        wait_until(lambda: len(running) + sum(q.qsize() for q in queues) == 20)
        wait_until(lambda: len(running) >= 4)
        assert sorted(running) == sorted([present] * 3 + [older])
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert len(running) == 20


@pytest.mark.django_db
def test_a_hash_made_with_other_parameters_is_replaced_at_login(settings: Any) -> None:
    settings.PASSWORD_HASHERS = [HASHER]
    user = person_with_an_older_hash()
    client = Client()
    try_login(user.email, "wrong", client)
    user.refresh_from_db()
    assert "m=102400" in user.password
    try_login(user.email, PASSWORD, client)
    user.refresh_from_db()
    assert OWASP in user.password
    assert is_logged_in(client)


@pytest.mark.django_db
def test_replacing_a_hash_in_a_session_does_not_end_the_session(settings: Any) -> None:
    settings.PASSWORD_HASHERS = [HASHER]
    user = person_with_an_older_hash()
    client = Client()
    client.force_login(user)
    answer = client.post("/account/reauthenticate/", {"password": PASSWORD})
    user.refresh_from_db()
    assert answer.status_code == 302
    assert OWASP in user.password
    assert is_logged_in(client)


def person_with_an_older_hash() -> User:
    """Somebody whose password was hashed as Django does it by default."""
    user = make_user("ada@example.test")
    vouch_for(user)
    user.password = Argon2PasswordHasher().encode(PASSWORD, "saltsaltsaltsaltsalt22")
    user.save()
    return user


@pytest.fixture
def no_turn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All turns are taken by others, and nobody waits long."""
    monkeypatch.setattr(hashers, "WAIT_SECONDS", 0.01)
    done = threading.Event()
    others = [hashers._present.submit(done.wait) for _ in range(3)]
    yield
    done.set()
    for other in others:
        other.result()


@pytest.mark.django_db
@pytest.mark.usefixtures("no_turn")
def test_who_gets_no_turn_is_told_when_to_come_back() -> None:
    answer = try_login("nobody@example.test", "wrong")
    assert (answer.status_code, answer["Retry-After"]) == (429, "2")
