"""What the process remembers of machines' payments is forgotten between tests."""

import pytest

from x402.byhash import facts
from x402.exact.evm import permit2, rail
from x402.heads import HEADS


@pytest.fixture(autouse=True)
def _nothing_found_yet() -> None:
    facts._lately_unknown.clear()
    HEADS.forget()
    permit2._missing.clear()


@pytest.fixture(autouse=True)
def _little_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local node shows a block's logs with its effects: between two looks nothing needs half a second."""
    monkeypatch.setattr(rail, "_PAUSE", 0.01)
