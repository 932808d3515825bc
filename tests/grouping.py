"""Pytest plugin: tests that share an installation or a demo stay with one worker.

pytest-xdist 3.8 keeps a group together by changing its tests' ids, and pytest 9.2 does not let it do that any more
(pytest-dev/pytest-xdist issue 1386): `--dist loadgroup` gives each test to whoever is free, without a word.

It also looks through all tests whenever it gives one away, and through all that a worker did whenever one ended. That work grows
with the square of the number of tests, in a process that takes its time from the workers; neither is done here.
"""

import re
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

_MARK: Final = re.compile(r'xdist_group\("(\w+)"\)')


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # no types
    """Gives a worker all tests of a group, and every other test to whoever is free."""

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Note that a test ended, and forget its group with the last one: what a worker has left is counted after each."""
        nodeid = self.registered_collections[node][item_index]
        units = self.assigned_work[node]
        group = self._split_scope(nodeid)
        units[group][nodeid] = True
        if all(units[group].values()):
            del units[group]
        self._reschedule(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        group, unit = self.workqueue.popitem(last=False)
        self.assigned_work[node][group] = unit
        node.send_runtest_some([self._places[nodeid] for nodeid, has_ended in unit.items() if not has_ended])

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where each test is in the list that all workers have collected alike."""
        return {nodeid: place for place, nodeid in enumerate(self.collection)}

    def _split_scope(self, nodeid: str) -> str:
        module = self.config.rootpath / nodeid.partition("::")[0]
        return group_of(module) or nodeid


@cache
def group_of(module: Path) -> str:
    """The group whose mark is in a module's text; empty for none. The process that distributes sees no marks."""
    found = _MARK.search(module.read_text())
    return found[1] if found else ""


@pytest.hookimpl
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling | None:
    """Distribute the tests of `--dist loadgroup`; leave other ways to pytest-xdist."""
    if config.getoption("dist") != "loadgroup":
        return None
    return GroupScheduling(config, log)
