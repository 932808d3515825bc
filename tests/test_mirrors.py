"""Tests mirror packages: what tests `a/b/c.py` is `tests/a/b/test_c.py`, or `test_c_<aspect>.py` beside it."""

import re
from pathlib import Path
from typing import Final

from tests.tree import ROOT

APPS: Final = (
    "gateway",
    "mails",
    "accounts",
    "wallets",
    "webhooks",
    "settlements",
    "checkouts",
    "x402",
    "links",
    "reports",
    "demo",
)
LEAST_SHARE: Final = 0.85
"""The share of modules that have a test of their name. It may rise, and does not fall."""

ABROAD: Final = (
    "tests/wallets/contract/",
    "tests/wallets/solana/",
    "tests/wallets/test_",
    "tests/x402/exact/middlewares/",
)
"""Tests of a whole kind of chain, of the published middlewares, and those of the chains' readers."""


def modules() -> list[Path]:
    """The product's modules, without packages' own files and migrations."""
    found = (path for app in APPS for path in (ROOT / app).rglob("*.py"))
    return [
        path.relative_to(ROOT)
        for path in found
        if path.name != "__init__.py" and "migrations" not in path.parts
    ]


def has_test(module: Path) -> bool:
    """Whether a test has a module's name."""
    place = ROOT / "tests" / module.parent
    name = re.compile(rf"test_{module.stem}(_\w+)?")
    return any(name.fullmatch(path.stem) for path in place.glob("test_*.py"))


def names_something(test: Path) -> bool:
    """Whether a module or a package has a test file's name, an aspect at its end left out."""
    place = ROOT / test.parent.relative_to("tests")
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:end]) for end in range(1, len(words) + 1)]
    return any(
        (place / f"{name}.py").exists() or (place / name).is_dir() for name in names
    )


def test_modules_have_tests_of_their_names() -> None:
    every = modules()
    named = [module for module in every if has_test(module)]
    assert len(named) / len(every) >= LEAST_SHARE


def test_each_test_of_an_app_names_what_it_tests() -> None:
    found = (path for app in APPS for path in (ROOT / "tests" / app).rglob("test_*.py"))
    tests = [path.relative_to(ROOT) for path in found]
    lost = [
        str(test)
        for test in tests
        if not str(test).startswith(ABROAD) and not names_something(test)
    ]
    assert lost == []


def test_a_name_that_nothing_has_is_seen() -> None:
    assert names_something(Path("tests/gateway/core/test_json.py"))
    assert names_something(Path("tests/gateway/core/web/test_middleware_nul.py"))
    assert not names_something(Path("tests/gateway/core/test_jason.py"))
    assert not has_test(Path("gateway/core/jason.py"))
