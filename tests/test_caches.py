"""docs/caches.md names every module that keeps something between requests, and a cache without a bound has no arguments from outside."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.tree import ROOT, modules

CACHES = {"lru_cache", "cache", "TTLCache", "LRUCache"}
KEEPS_ALL = {"cache", "functools.cache", "lru_cache(maxsize=None)", "lru_cache(None)"}
NAMED = set(re.findall(r"`(?!tests/)([\w/]+\.py)`", (ROOT / "docs" / "caches.md").read_text()))
# Arguments that are the program's own: settings, classes, and names of its own files and pages.
OWN_ARGUMENTS = {
    "gateway/core/api/serializers.py:_bound",
    "gateway/core/secrets.py:_fernet",
    "gateway/docs/pages.py:_markdown",
    "gateway/docs/pages.py:_rendered",
    "gateway/docs/reference.py:reference",
    "wallets/forwarders/factory.py:_artifact",
    "wallets/lookup.py:_genuine_names",
}


def imports_a_cache(source: str) -> bool:
    """Whether a module imports one of the caches that we use."""
    if "functools" not in source and "cachetools" not in source:
        return False
    imports = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
    return any(
        node.module in {"functools", "cachetools"} and CACHES & {alias.name for alias in node.names} for node in imports
    )


def unbounded(source: str) -> Iterator[str]:
    """Yield the functions with arguments of which every result is kept."""
    if "cache" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(one) in KEEPS_ALL for one in node.decorator_list):
            arguments = node.args
            if arguments.args or arguments.kwonlyargs or arguments.vararg or arguments.kwarg:
                yield node.name


SOURCES = {path.as_posix(): (ROOT / path).read_text() for path in modules()}


def test_every_module_with_a_cache_is_named() -> None:
    found = {name for name, source in SOURCES.items() if imports_a_cache(source)}
    assert found
    assert found - NAMED == set()


def test_every_named_module_is_there() -> None:
    assert NAMED - SOURCES.keys() == set()


def test_a_cache_without_a_bound_has_only_arguments_of_our_own() -> None:
    found = {f"{name}:{function}" for name, source in SOURCES.items() for function in unbounded(source)}
    assert found == OWN_ARGUMENTS


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("from functools import lru_cache", True),
        ("from cachetools import TTLCache, cached", True),
        ("from functools import partial", False),
    ],
)
def test_the_rule_sees_an_import(source: str, is_found: bool) -> None:
    assert imports_a_cache(source) is is_found


def test_the_rule_sees_a_cache_without_a_bound() -> None:
    source = "@cache\ndef page(slug): ...\n@cache\ndef pages(): ...\n@lru_cache(maxsize=9)\ndef code(text): ...\n"
    assert list(unbounded(source)) == ["page"]
