"""What every test of notices needs: receivers of this process may be called."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _loopback(settings: Any) -> None:
    settings.WEBHOOK_ALLOW_LOOPBACK = True
