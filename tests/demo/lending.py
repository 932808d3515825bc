"""Pytest plugin: one running demo for all tests of the group `demo`, because starting and ending one takes half a minute."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gateway.core.embedded import Engines
from tests.demo.running import Running, running, var_folder
from tests.template_database import fill
from tests.timed import timed

GROUP = "demo"
READY = "Florin is ready"


class Demos:
    """Keeps a demo for those who ask, until nobody else will."""

    def __init__(self) -> None:
        self._kept: Running | None = None
        self._exits = ExitStack()

    def lend(self) -> Running:
        """The demo that runs, a new one if there is none or somebody ended it."""
        if self._kept is None or self._kept.process.poll() is not None:
            self.close()
            var = self._exits.enter_context(var_folder())
            # As one that ran before: at night `test_without_chains_the_demo_sells_in_test_mode` begins with nothing, and migrates.
            with Engines(var / "engines") as urls:
                fill(urls.database_url)
            return self._start(var)
        return self._kept

    def start_again(self, ended: Running) -> Running:
        """Start a demo on the folder of one that was lent and ended; it is the one to lend from now on."""
        return self._start(ended.var)

    @timed("demo starts")
    def _start(self, var: Path) -> Running:
        demo = self._exits.enter_context(running(var, "demo"))
        try:
            demo.await_line(READY)
        except BaseException:
            # Nobody shall be lent one that never was ready.
            self.close()
            raise
        self._kept = demo
        return demo

    def close(self) -> None:
        """End it, and remove what it kept."""
        self._kept = None
        self._exits.close()


_DEMOS = pytest.StashKey[Demos]()


@pytest.fixture(scope="session")
def demos(request: pytest.FixtureRequest, django_db_setup: None) -> Iterator[Demos]:
    """What demos come from."""
    del django_db_setup
    demos = request.session.stash[_DEMOS] = Demos()
    yield demos
    demos.close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the demo with the last test of the group: its processes would go on working beside all other tests."""
    demos = item.session.stash.get(_DEMOS, None)
    if demos is not None and not _is_of_the_group(nextitem):
        demos.close()


def _is_of_the_group(item: pytest.Item | None) -> bool:
    mark = item.get_closest_marker("xdist_group") if item else None
    return mark is not None and GROUP in mark.args
