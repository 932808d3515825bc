"""An installation for the fault tests of a worker: shared, because starting one takes seconds."""

from collections.abc import Iterator

import pytest

from tests.faults.oracle import audit
from tests.installation import Installation


class Lender:
    """Keeps one installation, and lends it in order: honest nodes, the standard processes, everything credited."""

    def __init__(self) -> None:
        self._kept: Installation | None = None

    def lend(self) -> Installation:
        """The installation, another one if the last test left it in disorder."""
        if self._kept is not None and not self._is_sound(self._kept):
            self.close()
        if self._kept is None:
            self._kept = Installation()
            self._kept.__enter__()
        return self._kept

    def close(self) -> None:
        """End it."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.__exit__(None, None, None)

    def _is_sound(self, kept: Installation) -> bool:
        return next(audit(kept), None) is None


@pytest.fixture(scope="session")
def lender() -> Iterator[Lender]:
    """What `installation` comes from."""
    lender = Lender()
    yield lender
    lender.close()


@pytest.fixture
def installation(lender: Lender) -> Installation:
    """A running installation in order. Whatever a test does to it is undone, or it is thrown away."""
    installation = lender.lend()
    installation.restore()
    return installation
