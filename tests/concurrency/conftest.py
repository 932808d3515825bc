"""Races need rows that every connection sees, and nobody else who deals with them."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    """Only the threads of the test deal with the queue."""
    settings.TRANSFER_CONSUMERS = []
