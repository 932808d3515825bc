"""What a mutation is, which ones a source text offers, and the mutated text's code.

A mutation changes one place of a function, a method, or a module's SQL text. It is known by the function's name and the
changed text, not by a line's number, so it is found again in a later tree, where the function may lie in another module.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
CALCULATED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
IN_SQL: Final = (
    (re.compile(r"\bAND\b(?! %)"), "OR"),
    (re.compile(r"\bOR\b(?! REPLACE)"), "AND"),
    (re.compile(r"(?<![<>=!-])<(?![<>=@])"), "<="),
    (re.compile(r"<="), "<"),
    (re.compile(r"(?<![<>=-])>(?![>=])"), ">="),
    (re.compile(r">="), ">"),
    (re.compile(r" (?<![<>=!])= (?=%)"), " <> "),
    (re.compile(r"\bIS NULL\b"), "IS NOT NULL"),
    (re.compile(r"\bIS NOT NULL\b"), "IS NULL"),
    (re.compile(r"\bNOT EXISTS\b"), "EXISTS"),
    (re.compile(r"\bFOR UPDATE( OF \w+)?( SKIP LOCKED)?"), ""),
    (re.compile(r"\bLIMIT 1\b"), "LIMIT 2"),
    (re.compile(r"\bmin\("), "max("),
    (re.compile(r"\bmax\("), "min("),
)
_SQL: Final = re.compile(r"\b(SELECT|UPDATE|INSERT INTO|DELETE FROM|WHERE)\b")
_LOGS: Final = {"log", "logger", "logging"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change.

    `unit` is the qualified name of the outermost function or method, or of the module's variable; `before` and `after` are
    the changed expression's or statement's texts, as `ast.unparse` gives them, and `place` counts equal ones in the unit.
    """

    area: str
    path: str
    unit: str
    before: str
    after: str
    place: int

    @property
    def name(self) -> str:
        """One line for a table."""
        return f"{self.path}::{self.unit}: {self.before} → {self.after}" + (
            f" ({self.place + 1})" if self.place else ""
        )


def units(module: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield outermost functions and methods by qualified name, and assignments of the module that hold SQL."""
    for statement in module.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield statement.name, statement
            case ast.ClassDef():
                for inner in ast.walk(statement):
                    if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner in statement.body:
                        yield f"{statement.name}.{inner.name}", inner
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if any(_is_sql(node) for node in ast.walk(statement)):
                    yield name, statement


def changes(unit: ast.stmt) -> Iterator[tuple[ast.AST, str, int, ast.AST]]:
    """Yield each change that a unit offers: the parent, its field, the place in a list field (or -1), and the new node."""
    left: list[ast.AST] = [unit]
    while left:
        parent = left.pop(0)
        for field, value in ast.iter_fields(parent):
            if field in {"annotation", "returns", "decorator_list", "args"} and not isinstance(parent, ast.Call):
                continue  # read when the function is made, not when it runs
            for place, node in enumerate(value) if isinstance(value, list) else [(-1, value)]:
                if isinstance(node, ast.AST):
                    left.append(node)
                    for new in _changed(node, parent):
                        yield parent, field, place, new


def apply(change: tuple[ast.AST, str, int, ast.AST]) -> None:
    """Change the tree in place."""
    parent, field, place, new = change
    if place < 0:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[place] = new


def changed_node(change: tuple[ast.AST, str, int, ast.AST]) -> ast.AST:
    """Return the node that a change replaces."""
    parent, field, place, _ = change
    value = getattr(parent, field)
    node = value if place < 0 else value[place]
    assert isinstance(node, ast.AST)
    return node


def offered(area: str, path: str, module: ast.Module) -> list[Mutation]:
    """Return every mutation of a module."""
    found = []
    for name, unit in units(module):
        seen: dict[tuple[str, str], int] = {}
        for change in changes(unit):
            pair = texts(change)
            found.append(Mutation(area, path, name, *pair, seen.get(pair, 0)))
            seen[pair] = seen.get(pair, 0) + 1
    return found


def texts(change: tuple[ast.AST, str, int, ast.AST]) -> tuple[str, str]:
    """Return a change's text before and after; of SQL only the lines that differ."""
    before, after = (ast.unparse(node) for node in (changed_node(change), change[3]))
    pairs = zip(before.split("\\n"), after.split("\\n"), strict=False)
    different = [(old.strip(), new.strip()) for old, new in pairs if old != new]
    return different[0] if len(different) == 1 and isinstance(change[3], ast.Constant) else (before, after)


def find(mutation: Mutation, module: ast.Module) -> tuple[ast.stmt, tuple[ast.AST, str, int, ast.AST]] | None:
    """Return the unit and the change that a mutation means in a tree; None if it is not there."""
    left = mutation.place
    for name, unit in units(module):
        if name == mutation.unit:
            for change in changes(unit):
                if texts(change) == (mutation.before, mutation.after):
                    if not left:
                        return unit, change
                    left -= 1
    return None


def _changed(node: ast.AST, parent: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=right) if type(operator) in COMPARED:
            yield ast.Compare(left, [COMPARED[type(operator)]()], right)
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in CALCULATED and not _is_text(
            left, right
        ):
            yield ast.BinOp(left, CALCULATED[type(operator)](), right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)) if not isinstance(parent, ast.Subscript | ast.Slice | ast.JoinedStr):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str()) if _is_sql(node) and not isinstance(parent, ast.Expr):
            yield from _changed_sql(node)
        case ast.Expr(value=ast.Call() as call) if not _is_log(call):
            yield ast.Pass()
        case ast.Raise():
            yield ast.Pass()
    if isinstance(node, ast.expr) and _is_condition(parent, node):
        yield ast.UnaryOp(ast.Not(), node)


def _is_condition(parent: ast.AST, node: ast.AST) -> bool:
    tests = isinstance(parent, ast.If | ast.While | ast.IfExp) and parent.test is node
    return tests and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp)


def _changed_sql(node: ast.Constant) -> Iterator[ast.Constant]:
    text = str(node.value)
    for pattern, new in IN_SQL:
        for found in pattern.finditer(text):
            yield ast.Constant(text[: found.start()] + new + text[found.end() :])


def _is_sql(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.search(node.value) is not None


def _is_text(*nodes: ast.AST) -> bool:
    return any(
        isinstance(n, ast.JoinedStr | ast.List) or (isinstance(n, ast.Constant) and isinstance(n.value, str))
        for n in nodes
    )


def _is_log(call: ast.Call) -> bool:
    root: ast.AST = call
    while isinstance(root, ast.Call | ast.Attribute):
        root = root.func if isinstance(root, ast.Call) else root.value
    return isinstance(root, ast.Name) and root.id in _LOGS
