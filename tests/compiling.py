"""Pytest plugin: the workers of a whole run share the compiling of modules, which none finds done in a fresh clone.

They import the same modules at the same time, so each would compile nearly all of them. Those whose asserts are rewritten are
made as pytest makes them, the others as Python does.
"""

import compileall
import os
import sys
from pathlib import Path
from typing import Final

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir, try_makedirs

from tests.tree import APPS, ROOT

_FOLDERS: Final = (*APPS, "tests", "clients/python", "localnet")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Compile every third module, for example, if this is one of three workers that collect all tests."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker or early_config.known_args_namespace.file_or_dir or sys.dont_write_bytecode:
        return
    number, count = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    modules = sorted(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.py"))
    for path in modules[number::count]:
        if path.name == "conftest.py" or path.name.startswith("test_"):
            _rewrite(path, early_config)
        else:
            compileall.compile_file(path, quiet=2)


def _rewrite(path: Path, config: pytest.Config) -> None:
    """Keep a module with its asserts rewritten. One that changed since it was kept is rewritten by its import."""
    kept = get_cache_dir(path) / (path.stem + PYC_TAIL)
    if kept.exists() or assertstate_key not in config.stash or not try_makedirs(kept.parent):
        return
    try:
        source_hash, code = _rewrite_test(path, config)
    except SyntaxError:
        # Its import tells where.
        return
    _write_pyc(config.stash[assertstate_key], code, source_hash, kept)
