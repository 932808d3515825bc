"""Races need rows that every connection sees, and nobody else who deals with them."""

from typing import Any

import pytest

from gateway.core import daily_totals


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    """Only the threads of the test deal with the queue."""
    settings.TRANSFER_CONSUMERS = []
    settings.MOVEMENT_CONSUMERS = []


@pytest.fixture(autouse=True)
def _patient_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold that waits for a repair on a busy machine is no failure here."""
    monkeypatch.setattr(daily_totals, "_LONGEST_WAIT", "60s")
