"""Consumers hear of changed transfers after commit, without a broker too."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from django.test import override_settings

from gateway.core import valkey
from tests.factories import NOON
from tests.wallets.factories import make_deposit
from tests.wallets.transfers.test_service import new_transfer
from wallets.transfers.service import record_transfers

pytestmark = pytest.mark.django_db

heard: list[str] = []


@current_app.task(name="tests.hear", shared=False)  # type: ignore[untyped-decorator]
def hear() -> None:
    heard.append("rung")


@pytest.fixture
def fresh_valkey() -> Iterator[None]:
    """Let REDIS_URL count anew: the process keeps its client, and remembers for a second that it failed."""
    valkey.client.cache_clear()
    yield
    valkey.client.cache_clear()
    valkey._breaker.closed_again_at = 0.0


@pytest.mark.usefixtures("fresh_valkey")
@pytest.mark.parametrize("url", ["", "redis://127.0.0.1:1/0"], ids=["no broker", "broker is away"])
def test_without_a_broker_consumers_run_here_after_commit(
    settings: Any, django_capture_on_commit_callbacks: Any, url: str
) -> None:
    heard.clear()
    deposit = make_deposit()
    with (
        override_settings(REDIS_URL=url, TRANSFER_CONSUMERS=["tests.hear"]),
        django_capture_on_commit_callbacks(execute=True) as callbacks,
    ):
        record_transfers([new_transfer(deposit)], now=NOON)
        record_transfers([new_transfer(deposit)], now=NOON)
        assert heard == []
    assert heard == ["rung"]
    assert len(callbacks) == 1
