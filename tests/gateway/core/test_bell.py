"""Bells: they wake listeners, and their loss costs one poll."""

import asyncio
import threading
import time
from typing import Any

import pytest

from gateway.core import bell, valkey
from gateway.core.bell import Listener
from tests.waiting import wait_until


@pytest.fixture
def listener() -> Any:
    subscribed = Listener("test")
    subscribed.wait(0.05)
    yield subscribed
    subscribed.close()


def test_a_ring_wakes_who_listens(listener: Listener) -> None:
    threading.Timer(0.05, bell.ring, ["test"]).start()
    started = time.monotonic()
    assert listener.wait(10)
    assert time.monotonic() - started < 5


def test_a_ring_between_two_waits_is_not_lost(listener: Listener) -> None:
    bell.ring("test")
    assert listener.wait(5)


def test_many_rings_are_one(listener: Listener) -> None:
    for _ in range(20):
        bell.ring("test")
    # The last may come a moment after the others.
    assert 1 <= sum(listener.wait(0.1) for _ in range(20)) < 20


def test_another_bell_does_not_wake(listener: Listener) -> None:
    bell.ring("another")
    assert not listener.wait(0.1)


def test_all_who_listen_are_woken(listener: Listener) -> None:
    other = Listener("test")
    other.wait(0.05)
    bell.ring("test")
    assert listener.wait(5)
    assert other.wait(5)
    other.close()


def test_waiting_does_not_hold_up_the_event_loop(listener: Listener) -> None:
    async def wait_and_ring() -> bool:
        waiting = asyncio.create_task(listener.wait_async(10))
        await asyncio.sleep(0)
        bell.ring("test")
        return await waiting

    assert asyncio.run(wait_and_ring())


def test_without_valkey_ringing_is_silent_and_waiting_lasts_its_time(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    monkeypatch.setattr(valkey, "_breaker", valkey._Breaker())
    valkey.client.cache_clear()
    try:
        bell.ring("test")
        deaf = Listener("test")
        started = time.monotonic()
        assert not deaf.wait(0.2)
        assert not deaf.wait(0.2)
        assert time.monotonic() - started >= 0.4
        deaf.close()
    finally:
        valkey.client.cache_clear()


def test_a_listener_hears_again_once_valkey_is_back(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "_RETRY_SECONDS", 0.05)
    url = settings.REDIS_URL
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    listener = Listener("test")
    assert not listener.wait(0.05)
    settings.REDIS_URL = url

    def heard() -> bool:
        bell.ring("test")
        return listener.wait(0.05)

    wait_until(heard)
    listener.close()
