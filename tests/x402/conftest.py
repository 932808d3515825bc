"""What the process remembers of machines' payments is forgotten between tests."""

import pytest

from x402.byhash import facts
from x402.exact.evm import permit2
from x402.heads import HEADS


@pytest.fixture(autouse=True)
def _nothing_found_yet() -> None:
    facts._lately_unknown.clear()
    HEADS.forget()
    permit2._missing.clear()
