"""Pytest plugin: tests that share an installation or a demo stay with one worker.

pytest-xdist 3.8 keeps a group together by changing its tests' ids, and pytest 9.2 does not let it do that any more
(pytest-dev/pytest-xdist issue 1386): `--dist loadgroup` gives each test to whoever is free, without a word.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

_MARK: Final = re.compile(r'xdist_group\("(\w+)"\)')


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # no types
    """Gives a worker all tests of a group, and every other test to whoever is free."""

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
