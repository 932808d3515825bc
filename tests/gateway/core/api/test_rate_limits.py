"""Fixed windows, counted by one atomic script."""

import os
import subprocess
import sys
from typing import Any

import pytest

from gateway.core import valkey
from gateway.core.api import rate_limits
from gateway.core.api.rate_limits import Limit, RateState, hit
from tests.tree import ROOT

LIMIT = Limit("test", 60)
NOW = 1_800_000_030.0
PROCESSES = 8

# Each process waits for the word, so that all hit at once.
HAMMER = """
import sys
import django
django.setup()
from gateway.core.api.rate_limits import Limit, hit
print("ready", flush=True)
sys.stdin.readline()
states = [hit(Limit("test", 60), "me", now=float(sys.argv[1])) for _ in range(30)]
print(sum(not state.exceeded for state in states))
"""


def test_the_first_hit_leaves_all_but_one() -> None:
    assert hit(LIMIT, "me", now=NOW) == RateState(limit=60, remaining=59, reset=1_800_000_060, exceeded=False)


def test_exactly_the_limit_is_admitted_and_remaining_never_falls_below_zero() -> None:
    states = [hit(LIMIT, "me", now=NOW) for _ in range(65)]
    assert [state.exceeded for state in states] == [False] * 60 + [True] * 5
    assert [state.remaining for state in states] == [*range(59, -1, -1), *[0] * 5]


def test_a_new_window_begins_at_the_reset() -> None:
    *_, state = [hit(LIMIT, "me", now=NOW) for _ in range(61)]
    assert state.exceeded
    assert hit(LIMIT, "me", now=state.reset - 0.001).exceeded
    fresh = hit(LIMIT, "me", now=float(state.reset))
    assert (fresh.remaining, fresh.reset) == (59, state.reset + 60)


@pytest.mark.parametrize(("limit", "identity"), [(Limit("other", 60), "me"), (LIMIT, "you"), (LIMIT, "me:1")])
def test_scopes_and_identities_are_counted_apart(limit: Limit, identity: str) -> None:
    for _ in range(61):
        hit(LIMIT, "me", now=NOW)
    assert hit(limit, identity, now=NOW).remaining == 59


def test_no_counter_stays_behind(settings: Any) -> None:
    hit(LIMIT, "me", now=NOW)
    client = valkey.client()
    [key] = client.keys(f"{settings.KEY_PREFIX}:{rate_limits.NAMESPACE}:*")
    assert 0 < client.ttl(key) <= 2 * rate_limits.WINDOW_SECONDS


def test_the_headers_are_the_specifications() -> None:
    state = RateState(limit=60, remaining=3, reset=1_800_000_060, exceeded=False)
    assert state.headers() == {
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": "3",
        "X-RateLimit-Reset": "1800000060",
    }


@pytest.mark.slow
def test_eight_processes_at_once_get_exactly_the_limit_through(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Under the name that the processes use; a test of one process counts apart (tests/conftest.py).
    monkeypatch.setattr(rate_limits, "NAMESPACE", "rate")
    environment = os.environ | {
        "FLORIN_KEY_PREFIX": settings.KEY_PREFIX,
        "FLORIN_ENV": "development",
        "DJANGO_SETTINGS_MODULE": "gateway.settings",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HAMMER, str(NOW)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    admitted = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        said, _ = process.communicate(timeout=60)
        admitted.append(int(said))
    assert sum(admitted) == LIMIT.most
    assert hit(LIMIT, "me", now=NOW).exceeded
