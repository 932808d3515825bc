"""Installations for the fault tests of a worker: shared, because starting one takes seconds."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.faults.accountinstallation import AccountInstallation
from tests.faults.oracle import audit
from tests.florin import Florin
from tests.installation import Installation

Kind = TypeVar("Kind", bound=Florin)


class Lender:
    """Keeps one installation, and lends it in order: honest nodes, the standard processes, everything credited.

    There is never a second one, whose processes would take their time from those that a test waits for.
    """

    def __init__(self) -> None:
        self._kept: Florin | None = None

    def lend(self, kind: type[Kind]) -> Kind:
        """An installation of this kind, another one if the last test left it in disorder."""
        kept = self._kept
        if isinstance(kept, kind) and next(audit(kept), None) is None:
            return kept
        self.close()
        self._kept = made = kind()
        made.__enter__()
        return made

    def close(self) -> None:
        """End it."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.__exit__(None, None, None)


# No longer: its processes would go on polling beside all other tests of the worker.
@pytest.fixture(scope="package")
def lender(django_db_setup: None) -> Iterator[Lender]:
    """What installations come from, whose databases are filled with what the tests' own database is a copy of."""
    del django_db_setup
    lender = Lender()
    yield lender
    lender.close()


@pytest.fixture
def installation(lender: Lender) -> Installation:
    """A running installation in order. Whatever a test does to it is undone, or it is thrown away."""
    installation = lender.lend(Installation)
    installation.restore()
    return installation


@pytest.fixture
def accounts(lender: Lender) -> AccountInstallation:
    """The same, on the chains that are read account by account."""
    accounts = lender.lend(AccountInstallation)
    accounts.restore()
    return accounts


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the tests on one kind of installation together, because another one takes seconds to start."""
    places = [place for place, item in enumerate(items) if item.path.parent == Path(__file__).parent]
    ours = sorted((items[place] for place in places), key=_is_on_accounts)
    for place, item in zip(places, ours, strict=True):
        items[place] = item


def _is_on_accounts(item: pytest.Item) -> bool:
    case = getattr(item, "callspec", None)
    kind = case.params.get("kind") if case else None
    return "accounts" in {kind, *getattr(item, "fixturenames", ())}
