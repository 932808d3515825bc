"""Pytest plugin: finds the tests that reach each mutation, or runs them against it.

`FLORIN_MUTATIONS=reach` runs the tests as usual, with a call before each chosen place that notes the running test, and
writes var/mutations/reached-*.json. `FLORIN_MUTATIONS=run` takes the numbers in `FLORIN_MUTATIONS_JOB`, in one session:
for each it exchanges the code object of the changed function and runs the tests that reach it, the quick ones first, until
one fails. Such a test runs once more on the unchanged code: a failure there too is no evidence. Servers in processes of
their own are not changed, so no test that only speaks to one counts as reaching.
"""

import ast
import builtins
import gc
import importlib
import json
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol

from tests.mutations.operators import Mutation, apply, changed_node, find, units

ROOT: Final = Path(__file__).resolve().parent.parent.parent
CHOSEN: Final = ROOT / "tests" / "mutations" / "chosen.json"
WORK: Final = ROOT / "var" / "mutations"
MOST_SECONDS: Final = 60.0
"""So long the tests of one mutation may take, by the times of the run that found them."""

_reached: dict[str, set[int]] = defaultdict(set)
_seconds: dict[str, float] = {}
_running = ""


def chosen() -> list[Mutation]:
    """Return the chosen mutations, numbered by their place; the path is where the unit lies now."""
    return [Mutation(**row) for row in json.loads(CHOSEN.read_text())]


class Hang(BaseException):
    """A test took much longer on the changed code."""


def pytest_configure(config: pytest.Config) -> None:
    """Look at modules while they are imported; this plugin is loaded before any of them."""
    if _mode() == "reach":
        config.pluginmanager.register(Reach(), "florin-reach")
    elif _mode() == "run":
        config.pluginmanager.register(Run(), "florin-run")


def _mode() -> str:
    return os.environ.get("FLORIN_MUTATIONS", "")


class Reach:
    """Notes which test reaches which mutation."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Name the running test, and time it."""
        global _running
        _running, began = item.nodeid, time.monotonic()
        try:
            return (yield)
        finally:
            _seconds[item.nodeid] = time.monotonic() - began
            _running = ""

    def pytest_sessionfinish(self) -> None:
        """Write what this process saw."""
        WORK.mkdir(parents=True, exist_ok=True)
        rows = {test: [_seconds.get(test, 0.0), sorted(numbers)] for test, numbers in _reached.items() if test}
        (WORK / f"reached-{os.getpid()}.json").write_text(json.dumps(rows))


def reached() -> dict[int, list[tuple[float, str]]]:
    """Return each mutation's tests with their seconds, the quick ones first."""
    tests: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for file in WORK.glob("reached-*.json"):
        for test, (seconds, numbers) in json.loads(file.read_text()).items():
            for number in numbers:
                tests[number].append((seconds, test))
    return {number: sorted(found) for number, found in tests.items()}


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, notes: Callable[[ast.Module], None]) -> None:
        super().__init__(name, path)
        self._notes = notes

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path))
        self._notes(tree)
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Compiles the product's modules with notes at the chosen places."""

    def __init__(self) -> None:
        self._of: dict[str, list[tuple[int, Mutation]]] = defaultdict(list)
        for number, mutation in enumerate(chosen()):
            self._of[str(ROOT / mutation.path)].append((number, mutation))

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin in self._of and isinstance(spec.loader, SourceFileLoader):
            mutations = self._of[spec.origin]
            spec.loader = _Loader(fullname, spec.origin, lambda tree: _note_all(tree, mutations))
        return spec if spec is not None and spec.origin in self._of else None


def _note_all(tree: ast.Module, mutations: list[tuple[int, Mutation]]) -> None:
    places = [(number, *found) for number, mutation in mutations if (found := find(mutation, tree))]
    # A note moves the statements behind it, so nodes are taken before the first one.
    for number, unit, node in [(number, unit, changed_node(change)) for number, unit, change in places]:
        if isinstance(unit, ast.FunctionDef | ast.AsyncFunctionDef):
            _note(unit, node, number)
        else:
            for function in _users(tree, unit):
                function.body.insert(_after_docstring(function), _call(number))


def _note(unit: ast.stmt, node: ast.AST, number: int) -> None:
    """Put a call before the innermost statement that holds a node."""
    best: tuple[list[ast.stmt], ast.stmt] | None = None
    for parent in ast.walk(unit):
        for _, value in ast.iter_fields(parent):
            if isinstance(value, list):
                for inner in value:
                    if isinstance(inner, ast.stmt) and any(node is below for below in ast.walk(inner)):
                        best = (value, inner)
    assert best is not None
    best[0].insert(best[0].index(best[1]), _call(number))


def _users(tree: ast.Module, unit: ast.stmt) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions that use a variable of the module, or one made of it."""
    names = _names_made_of(tree, unit)
    for _, function in units(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and _loads(function, names):
            yield function


def _names_made_of(tree: ast.Module, unit: ast.stmt) -> set[str]:
    names = _targets(unit)
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _loads(statement, names):
            names |= _targets(statement)
    return names


def _targets(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _loads(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names for n in ast.walk(node))


def _after_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return 1 if ast.get_docstring(function) is not None else 0


def _call(number: int) -> ast.Expr:
    return ast.Expr(ast.Call(ast.Name("__florin_reached__", ast.Load()), [ast.Constant(number)], []))


class Run:
    """Runs the tests of each mutation against it."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own loop."""
        items = {item.nodeid: item for item in session.items}
        tests, mutations = reached(), chosen()
        for number in json.loads(Path(os.environ["FLORIN_MUTATIONS_JOB"]).read_text()):
            _tell({"number": number, "began": time.time()})
            _tell({"number": number, **_try(mutations[number], _within(tests.get(number, []), items))})
        return True


def _within(tests: list[tuple[float, str]], items: dict[str, pytest.Item]) -> list[tuple[float, pytest.Item]]:
    chosen_tests, spent = [], 0.0
    for seconds, test in tests:
        if test in items:
            chosen_tests.append((seconds, items[test]))
            spent += seconds
            if spent > MOST_SECONDS:
                break
    return chosen_tests


def _try(mutation: Mutation, tests: list[tuple[float, pytest.Item]]) -> dict[str, object]:
    began = time.monotonic()
    unsteady = []
    try:
        change = Change(mutation)
    except LookupError as error:
        return {"verdict": "not there", "why": str(error)}
    for place, (seconds, item) in enumerate(tests):
        _out().touch()
        with change.applied():
            failure = _failure(item, seconds)
        if failure and not _failure(item, seconds):
            return {
                "verdict": "killed",
                "by": item.nodeid,
                "tried": place + 1,
                "seconds": round(time.monotonic() - began, 2),
            }
        if failure:
            unsteady.append(item.nodeid)
    verdict = "survived" if tests else "not reached"
    return {
        "verdict": verdict,
        "tried": len(tests),
        "unsteady": unsteady,
        "seconds": round(time.monotonic() - began, 2),
    }


def _failure(item: pytest.Item, seconds: float) -> str:
    """Run one test; return the kind of its failure, empty if it passes. Longer-lived fixtures stay for the next one."""

    def hang(*_: object) -> None:
        raise Hang

    # Its own set-up too, which waits for `nextitem`: a second run of the same test would begin without fixtures.
    assert item.parent is not None
    item.session._setupstate.teardown_exact(item.parent)  # type: ignore[arg-type]
    signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, 20 + 6 * seconds)
    try:
        reports = runtestprotocol(item, log=False, nextitem=item)
    except Hang:
        return "hang"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return next((report.when for report in reports if report.failed), "")


class Change:
    """A mutation of the running product, which can be switched on and off.

    Raises LookupError where the unit or the change is not there.
    """

    def __init__(self, mutation: Mutation) -> None:
        path = ROOT / mutation.path
        module = importlib.import_module(mutation.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        tree = ast.parse(path.read_text())
        found = find(mutation, tree)
        if not found:
            raise LookupError(mutation.name)
        unit, change = found
        line = min([unit.lineno, *(d.lineno for d in getattr(unit, "decorator_list", []))])
        apply(change)
        ast.fix_missing_locations(tree)
        self._codes: list[tuple[FunctionType, CodeType, CodeType]] = []
        self._texts: list[tuple[dict[str, Any], str, str, str]] = []
        if isinstance(unit, ast.FunctionDef | ast.AsyncFunctionDef):
            new = _code_of(compile(tree, path, "exec", dont_inherit=True), mutation.unit, line)
            self._codes = [(live, live.__code__, new) for live in _alive(str(path), mutation.unit, line)]
        else:
            self._texts = list(_held_texts(module, tree, unit))
        if not (self._codes or self._texts):
            raise LookupError(f"nothing of this name is alive: {mutation.name}")

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let the product have the mutation."""
        try:
            for function, _, new in self._codes:
                function.__code__ = new
            for space, key, _, text in self._texts:
                space[key] = text
            yield
        finally:
            for function, old, _ in self._codes:
                function.__code__ = old
            for space, key, before, _ in self._texts:
                space[key] = before


def _alive(path: str, name: str, line: int) -> list[FunctionType]:
    # The suite freezes what it collected, and what is frozen is not listed.
    gc.unfreeze()
    things = gc.get_objects()
    gc.freeze()
    # A proxy's isinstance would ask what it stands for.
    functions = [thing for thing in things if type(thing) is FunctionType]
    codes = [(function, function.__code__) for function in functions]
    return [
        function
        for function, code in codes
        if (code.co_filename, code.co_qualname, code.co_firstlineno) == (path, name, line)
    ]


def _held_texts(module: ModuleType, tree: ast.Module, unit: ast.stmt) -> Iterator[tuple[dict[str, Any], str, str, str]]:
    """Yield each place of the product's modules that holds a changed text, or one made of it: the same object."""
    names = _names_made_of(tree, unit)
    scope = dict(vars(module))
    body: list[ast.stmt] = [s for s in tree.body if isinstance(s, ast.Assign | ast.AnnAssign) and _targets(s) & names]
    exec(compile(ast.Module(body, []), str(module.__file__), "exec", dont_inherit=True), scope)
    texts = {id(old): (old, scope[name]) for name in names if isinstance(old := vars(module).get(name), str)}
    for holder in [m for m in sys.modules.values() if str(getattr(m, "__file__", "")).startswith(str(ROOT))]:
        for key, value in list(vars(holder).items()):
            if id(value) in texts and texts[id(value)][0] is value:
                yield vars(holder), key, value, texts[id(value)][1]


def _code_of(code: CodeType, name: str, line: int) -> CodeType:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_qualname == name and inner.co_firstlineno == line:
                return inner
            if name.startswith(inner.co_qualname + "."):
                return _code_of(inner, name, line)
    raise LookupError(name)


def _tell(row: dict[str, object]) -> None:
    with _out().open("a") as out:
        out.write(json.dumps(row) + "\n")


def _out() -> Path:
    return Path(os.environ["FLORIN_MUTATIONS_JOB"]).with_suffix(".out")


if _mode() == "reach":
    builtins.__florin_reached__ = lambda number: _reached[_running].add(number)  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Finder())
