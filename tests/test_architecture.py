"""Rules about the shape of the code that no linter of ours states."""

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest

from tests.tree import APPS, ROOT, modules, python_sources, relative, repository_files

MOST_LINES_OF_A_FILE = 600
WRITTEN_BY = "Written by script/clients."
MOST_LINES_OF_A_FUNCTION = 50
# A module below this is no job of its own (docs/adr/0024), unless it has several importers, or is one of these.
LEAST_LINES_OF_A_JOB = 60
FILES_OF_THEIR_OWN = {
    "apps",
    "checks",
    "errors",
    "export",
    "facts",
    "schemas",
    "serializers",
    "states",
    "tasks",
    "urls",
}
FOLDERS_OF_FILES = {"commands", "models", "templatetags"}
# A domain's service knows no HTTP, and its only importer is a view.
SERVICES_OF_VIEWS = {"accounts.waitlist.service"}

# Classes that have one name on purpose: Django finds commands by it, and each chain has its own of what a chain has.
COMMANDS = re.compile(r"\w+\.(?:\w+\.)*management\.commands\.\w+\.Command")
CHAINS = {path.parent.name for path in (ROOT / "wallets" / "chains").glob("*/family.py")}
OF_A_CHAIN = re.compile(rf"(?<=^wallets\.chains\.)(?:{'|'.join(sorted(CHAINS))})(?=\.)")
FILES_OF_SERIALIZERS = {"schemas", "serializers"}

# What a strict Content-Security-Policy would refuse, or would have to be loosened for.
INLINE_CODE = re.compile(
    r"""<style\b | \sstyle\s*= | <script\b(?![^>]*\bsrc=) | \son[a-z]+\s*= | javascript:""", re.VERBOSE | re.IGNORECASE
)

# Mail programs know no style sheets, so mails carry their style with them. But opening one tells nobody.
MAIL_TEMPLATES = ROOT / "templates" / "checkouts" / "emails"
LOADED_BY_MAIL = re.compile(
    r"<(?:img|link|script|style|iframe|object|video|audio|form)\b | \ssrc\s*= | \son[a-z]+\s*= | url\( | @import | javascript:",
    re.VERBOSE | re.IGNORECASE,
)

NAME_IN_A_STRING = re.compile(r'"(\w[\w.]*)"')

# A template of an app's page, as the view names it.
PAGE_OF_AN_APP = re.compile(r'"(?:dashboard/)?(\w+)/[\w/-]+\.(?:html|txt)"')

PURE_CHAINS_PROBE = """
import importlib, pkgutil, sys
import wallets.chains
for module in pkgutil.walk_packages(wallets.chains.__path__, "wallets.chains."):
    importlib.import_module(module.name)
found = {"django", "rest_framework", "celery"} & set(sys.modules)
sys.exit(f"imported: {found}" if found else 0)
"""


def long_functions(source: str) -> Iterator[tuple[str, int]]:
    """Name and length of each function over the limit."""
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MOST_LINES_OF_A_FUNCTION:
                yield node.name, length


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement within one, without the expressions, of which there are ten times as many."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, field, []):
            yield child
            yield from statements(child)


def importers(sources: dict[str, str]) -> dict[str, set[str]]:
    """The modules that import each module; "by name" is one that names it in a string, as settings do."""
    found: dict[str, set[str]] = {name: set() for name in sources}
    for name, source in sources.items():
        imports = [node for node in statements(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
        imported = {node.module or "" for node in imports}
        imported |= {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
        strings = set(NAME_IN_A_STRING.findall(source))
        for importer, named in (name, imported), ("by name", strings | {one.rpartition(".")[0] for one in strings}):
            for one in named & found.keys() - {name}:
                found[one].add(importer)
    return found


def steps(sources: dict[str, str]) -> list[str]:
    """Small modules that one module of their own package alone uses."""
    used_by = importers(sources)
    small = [name for name, source in sources.items() if len(source.splitlines()) < LEAST_LINES_OF_A_JOB]
    return [
        name
        for name in small
        if name.rpartition(".")[2] not in FILES_OF_THEIR_OWN
        and name not in SERVICES_OF_VIEWS
        and not FOLDERS_OF_FILES & set(name.split("."))
        and len(used_by[name]) == 1
        and used_by[name].pop().rpartition(".")[0] == name.rpartition(".")[0]
    ]


def second_meanings(sources: dict[str, str]) -> dict[str, list[str]]:
    """The names of top-level classes that mean several things, with the modules that define them.

    A serializer means the class of its name in its own app, which it describes. Chains' classes of one name mean the same.
    """
    own: dict[str, set[str]] = defaultdict(set)
    described: dict[str, set[str]] = defaultdict(set)
    for module, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not COMMANDS.fullmatch(f"{module}.{node.name}"):
                found = described if _is_serializer(module, node) else own
                found[node.name].add(OF_A_CHAIN.sub("*", module))
    for name, modules_ in described.items():
        apps = {module.partition(".")[0] for module in own[name]}
        own[name] |= {module for module in modules_ if module.partition(".")[0] not in apps}
    return {name: sorted(found) for name, found in own.items() if len(found) > 1}


def _is_serializer(module: str, node: ast.ClassDef) -> bool:
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    return module.rpartition(".")[2] in FILES_OF_SERIALIZERS or "Answer" in bases


def mail_imports(source: str) -> Iterator[int]:
    """Line numbers of imports of what can send mail."""
    if not re.search(r"\bmail\b|\bsmtplib\b", source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:
            continue
        if any(re.match(r"django\.core\.mail\b|smtplib\b", name) for name in names):
            yield node.lineno


def imported_packages(source: str) -> set[str]:
    """The top packages that a module imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}


def locked_versions(lock: Path) -> dict[str, str]:
    """Name to version of each requirement in a lock file."""
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", lock.read_text(), re.MULTILINE))


def unhashed_requirements(lock_text: str) -> list[str]:
    """Requirements that an installer would take without checking their bytes."""
    starts = [match.start() for match in re.finditer(r"^[\w.-]+==", lock_text, re.MULTILINE)]
    blocks = [lock_text[start:end] for start, end in pairwise([*starts, len(lock_text)])]
    return [block.split()[0] for block in blocks if "--hash=sha256:" not in block]


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    sources = [*python_sources(), *repository_files(".js", ".css", ".html", ".vy")]
    # A generated file has no readers: its script is read instead.
    texts = {relative(path): path.read_text() for path in sources}
    lengths = {
        name: len(text.splitlines()) for name, text in texts.items() if WRITTEN_BY not in text.partition("\n")[0]
    }
    assert {name: length for name, length in lengths.items() if length > MOST_LINES_OF_A_FILE} == {}


def test_a_module_is_a_job_and_not_a_step_of_one() -> None:
    product = [path for path in modules() if path.parts[0] != "demo"]
    sources = {path.as_posix().removesuffix(".py").replace("/", "."): (ROOT / path).read_text() for path in product}
    assert steps(sources) == []


def test_the_rule_of_modules_sees_a_step() -> None:
    sources = {
        "shop.price": "x = 1",
        "shop.urls": "x = 1",
        "shop.cart": "from shop.price import x\nfrom shop.till import y\nfrom shop import urls",
        "shop.till": "y = 1\n" * LEAST_LINES_OF_A_JOB,
        "street.view": "from shop.cart import z",
    }
    assert steps(sources) == ["shop.price"]


def test_a_class_name_means_one_thing() -> None:
    # The demo plays a shop and its buyers, which are strangers to the product.
    product = set(APPS) - {"demo"}
    paths = [path for path in python_sources() if path.relative_to(ROOT).parts[0] in product]
    sources = {relative(path).removesuffix(".py").replace("/", "."): path.read_text() for path in paths}
    assert second_meanings(sources) == {}


def test_the_rule_of_names_sees_a_second_meaning() -> None:
    line, answer, command = "class Line: ...", "class Line(Answer): ...", "class Command: ..."
    two = {"Line": ["shop.cart", "street.map"]}
    assert second_meanings({"shop.cart": line, "street.map": line}) == two
    assert second_meanings({"shop.cart": line, "street.map": answer}) == two
    assert second_meanings({"shop.cart": answer, "street.map": answer}) == two
    assert second_meanings({"shop.cart": line, "shop.map": answer, "shop.serializers": line}) == {}
    assert second_meanings({"wallets.chains.evm.find": line, "wallets.chains.ton.find": line}) == {}
    assert "Line" in second_meanings({"wallets.chains.evm.find": line, "wallets.chains.rpc.find": line})
    assert second_meanings({f"{app}.management.commands.sell": command for app in ("shop", "street")}) == {}
    assert "Command" in second_meanings({"shop.cart": command, "street.map": command})


def test_no_function_is_longer_than_a_screen() -> None:
    found = {
        f"{relative(path)}:{name}": length
        for path in python_sources()
        for name, length in long_functions(path.read_text())
    }
    assert found == {}


def test_the_function_rule_sees_a_function_one_line_too_long() -> None:
    body = "    pass\n" * MOST_LINES_OF_A_FUNCTION
    assert list(long_functions(f"def bulky():\n{body}")) == [("bulky", 51)]
    assert list(long_functions(f"def fits():\n{body[:-9]}")) == []
    for holder in (
        "class A:",
        "if x:",
        "for x in y:",
        "with x:",
        "async def f():",
        "try: f()\nexcept E:",
        "try: f()\nfinally:",
    ):
        text = f"{holder}\n  def bulky():\n{body}"
        assert "bulky" in dict(long_functions(text)), holder


def test_there_is_no_drawer_called_utils() -> None:
    assert [relative(p) for p in python_sources() if p.stem in {"utils", "helpers"}] == []


def test_chain_adapters_load_without_django_or_celery() -> None:
    probe = subprocess.run(
        [sys.executable, "-c", PURE_CHAINS_PROBE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert probe.returncode == 0, probe.stderr


def test_the_local_chains_know_nothing_of_florin() -> None:
    assert imported_packages("import wallets.chains\nfrom tests import tree") == {"wallets", "tests"}
    florin = {*APPS, "florin_x402", "tests", "benchmarks"}
    sources = list((ROOT / "localnet").rglob("*.py"))
    assert {path.relative_to(ROOT).parts[1] for path in sources} == {"src", "tests"}
    assert {relative(path): found for path in sources if (found := imported_packages(path.read_text()) & florin)} == {}


def test_templates_carry_no_inline_code() -> None:
    found = [
        f"{relative(path)}: {match.group().strip()}"
        for path in repository_files(".html")
        if MAIL_TEMPLATES not in path.parents
        for match in INLINE_CODE.finditer(path.read_text())
    ]
    assert found == []


def test_an_apps_views_render_templates_of_its_own() -> None:
    found = [
        f"{relative(path)}: {match.group()}"
        for path in python_sources()
        for match in PAGE_OF_AN_APP.finditer(path.read_text())
        if match[1] in APPS and (owner := path.relative_to(ROOT).parts[0]) in APPS and owner != match[1]
    ]
    assert found == []


def test_templates_of_mails_load_nothing_and_run_nothing() -> None:
    templates = [p for p in repository_files(".html") if MAIL_TEMPLATES in p.parents]
    found = [
        f"{relative(path)}: {match.group().strip()}"
        for path in templates
        for match in LOADED_BY_MAIL.finditer(path.read_text())
    ]
    assert templates
    assert found == []


@pytest.mark.parametrize(
    "markup",
    [
        '<img src="https://shop.test/pixel.gif">',
        "<p style=\"background: url('x')\">",
        '<link rel="stylesheet" href="x">',
        "<script>track()</script>",
        '<a onclick="track()">',
    ],
)
def test_the_mail_rule_sees_what_is_loaded(markup: str) -> None:
    assert LOADED_BY_MAIL.search(markup)
    assert not LOADED_BY_MAIL.search('<p style="margin: 0"><a href="{{ url }}">')


def test_all_mail_goes_through_the_outbox() -> None:
    assert list(mail_imports("from django.core import mail")) == [1]
    assert list(mail_imports("import smtplib\nfrom django.core.mail import x")) == [1, 2]
    found = [
        f"{relative(path)}:{line}"
        for path in python_sources()
        if path.relative_to(ROOT).parts[0] not in {"mails", "tests"}
        for line in mail_imports(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "markup",
    [
        '<p style="color: red">',
        "<style>p {}</style>",
        "<script>pay()</script>",
        '<button type="button" onclick="pay()">',
        '<a href="javascript:pay()">',
    ],
)
def test_the_template_rule_sees_inline_code(markup: str) -> None:
    assert INLINE_CODE.search(markup)
    assert not INLINE_CODE.search('<script type="module" src="/static/js/a.js">')


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        # Without lower bounds installers take tronpy 0.0.1, since web3 8 and tronpy
        # disagree about eth-abi; solana and tonsdk change names between releases.
        ("tronpy", r"(0\.6\.([2-9]|\d\d)|0\.([7-9]|\d\d)\.|[1-9])"),
        ("web3", r"7\.(1[6-9]|[2-9]\d)\."),
        ("solana", r"0\.40\."),
        ("tonsdk", r"1\.0\.15$"),
    ],
)
def test_versions_that_matter_are_locked_and_installed(package: str, allowed: str) -> None:
    assert re.match(allowed, locked_versions(ROOT / "requirements/server.txt")[package])
    assert re.match(allowed, version(package))


def test_development_and_production_lock_the_same_versions() -> None:
    server, tracing, run, dev = (
        locked_versions(ROOT / f"requirements/{name}.txt") for name in ("server", "tracing", "run", "dev")
    )
    assert server
    assert {name: run.get(name) for name in server} == server
    assert {name: tracing.get(name) for name in server} == server
    assert {name: dev.get(name) for name in run | tracing} == run | tracing


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.txt",
        "server.txt",
        "tracing.txt",
        "run.txt",
        "dev.txt",
        "x402.txt",
        "pandas.txt",
        "mcp.txt",
        "shop.txt",
    ],
)
def test_lock_files_carry_hashes_and_no_addresses(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    assert unhashed_requirements(text) == []
    assert "://" not in text


def test_the_hash_rule_sees_a_requirement_without_one() -> None:
    text = "a==1 \\\n    --hash=sha256:00\nb==2\nc==3 \\\n    --hash=sha256:00\n"
    assert unhashed_requirements(text) == ["b==2"]


def test_the_node_lock_carries_hashes_and_no_addresses() -> None:
    text = (ROOT / "package-lock.json").read_text()
    packages = {name: entry for name, entry in json.loads(text)["packages"].items() if name}
    assert packages
    assert [name for name, entry in packages.items() if "integrity" not in entry] == []
    assert "://" not in text
