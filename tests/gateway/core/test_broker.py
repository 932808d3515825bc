"""Waking tasks from processes that must not wait for the broker."""

from typing import Any

import pytest
from celery import current_app
from kombu.exceptions import OperationalError

from gateway.core import valkey
from gateway.core.broker import wake_task


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What Celery was asked to send."""
    calls: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, **how: calls.append((name, how)))
    valkey._breaker.closed_again_at = 0.0
    return calls


def test_a_task_is_sent_once_and_never_tried_again(sent: list[tuple[str, dict[str, Any]]]) -> None:
    assert wake_task("links.plan_reminders") is True
    assert sent == [("links.plan_reminders", {"retry": False, "ignore_result": True})]


def test_without_valkey_nothing_is_sent_and_nothing_raised(
    sent: list[tuple[str, dict[str, Any]]], settings: Any
) -> None:
    settings.REDIS_URL = ""
    assert wake_task("links.plan_reminders") is False
    assert sent == []


def test_a_broker_that_refuses_is_told_by_false(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError

    valkey._breaker.closed_again_at = 0.0
    monkeypatch.setattr(current_app, "send_task", refuse)
    assert wake_task("links.plan_reminders") is False
    valkey._breaker.closed_again_at = 0.0
