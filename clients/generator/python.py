"""Writes the Python client's `types.py` and `operations.py`."""

import keyword
import subprocess  # nosec B404
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clients.generator.description import Field, Operation, Shape, Type

_HEAD = '"""{}. Written by script/clients."""\n\n'
_PLAIN = {"null": "None", "any": "Any"}


@dataclass(frozen=True)
class _Kind:
    """How operations are called: where their base classes are, and the words of a method."""

    calls: str
    pages: str
    pages_class: str
    define: str
    call: str


_WAITING = _Kind("florin.calls", "florin.pages", "Pages", "def", "self._call")
_AWAITED = _Kind(
    "florin.asynchronous.calls", "florin.asynchronous.calls", "AsyncPages", "async def", "await self._call"
)


def files(types: Iterable[Type], operations: dict[str, list[Operation]]) -> dict[str, str]:
    """Return each file's text by its name."""
    queries = [
        Type(each.query_type, f"Filters of `{each.method} {each.path}`", each.query)
        for group in operations.values()
        for each in group
        if each.query
    ]
    return {
        "types.py": _formatted("".join(_types([*types, *queries]))),
        "operations.py": _formatted("".join(_operations(operations, _WAITING))),
        "asynchronous/operations.py": _formatted("".join(_operations(operations, _AWAITED))),
    }


def _types(types: Iterable[Type]) -> Iterator[str]:
    yield _HEAD.format("Shapes of requests and answers")
    yield "from __future__ import annotations\n\n"
    yield "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n\n"
    for each in types:
        if each.alias is not None:
            yield f"{each.name}: TypeAlias = {_shape(each.alias, quoted=True)}\n\n"
        elif any(keyword.iskeyword(field.name) for field in each.fields) and not each.name.endswith("Query"):
            inner = ", ".join(f'"{field.name}": {_field(field, quoted=True)}' for field in each.fields)
            yield f'{each.name} = TypedDict("{each.name}", {{{inner}}})\n\n'
        else:
            yield f'class {each.name}(TypedDict):\n    """{each.text or each.name}"""\n\n'
            yield "".join(f"    {_name(field)}: {_field(field, quoted=False)}\n" for field in each.fields) + "\n\n"


def _operations(operations: dict[str, list[Operation]], kind: _Kind) -> Iterator[str]:
    yield _HEAD.format("The API's operations, by resource")
    yield '# mypy: disable-error-code="no-any-return"\n\n'
    yield "from typing import Unpack\n\nfrom florin import types as t\n"
    yield _imports(kind)
    for resource, group in operations.items():
        yield f'class {_class(resource)}(Resource):\n    """Operations of `/{resource}`."""\n\n'
        yield "\n".join(_method(each, kind) for each in group) + "\n\n"
    yield 'class Operations:\n    """All resources."""\n\n'
    yield "    def __init__(self, resource: Resource) -> None:\n"
    for resource in operations:
        yield f"        self.{resource} = {_class(resource)}.of(resource)\n"


def _imports(kind: _Kind) -> str:
    if kind.calls == kind.pages:
        return f"from {kind.calls} import {kind.pages_class}, Resource\n\n"
    return f"from {kind.calls} import Resource\nfrom {kind.pages} import {kind.pages_class}\n\n"


def _method(operation: Operation, kind: _Kind) -> str:
    takes = ["self", *(f"{place}: str" for place in operation.places)]
    gives = []
    if operation.is_union:
        takes.append(f"body: t.{operation.body}")
        gives.append("body=body")
    if operation.takes_key:
        takes += ["*", "idempotency_key: str | None = None"]
        gives.append("key=idempotency_key")
    if operation.body and not operation.is_union:
        takes.append(f"**body: Unpack[t.{operation.body}]")
        gives.append("body=body")
    if operation.query:
        takes.append(f"**query: Unpack[t.{operation.query_type}]")
        gives.append("query=query")
    if operation.own_field:
        gives.append(f'own="{operation.own_field}"')
    if operation.takes_key:
        gives.append("takes_key=True")
    if operation.answer.kind == "bytes":
        gives.append("raw=True")
    path = _path(operation)
    define = kind.define
    if operation.item:
        # Nothing is asked before it is iterated.
        define, answer = "def", f"{kind.pages_class}[t.{operation.item}]"
        call = f"self._pages({path}, query)"
    else:
        answer = _shape(operation.answer, prefix="t.")
        gives.insert(0, path)
        call = f'{kind.call}("{operation.method}", {", ".join(gives)})'
    head = f"    {define} {'_'.join(operation.words)}({', '.join(takes)}) -> {answer}:\n"
    verb = "" if answer == "None" else "return "
    return head + f'        """{operation.text}"""\n        {verb}{call}\n'


def _path(operation: Operation) -> str:
    return "(" + ", ".join([f'"{operation.path}"', *operation.places]) + ",)"


def _class(resource: str) -> str:
    return "".join(word.title() for word in resource.split("_"))


def _name(field: Field) -> str:
    return f"{field.name}_" if keyword.iskeyword(field.name) else field.name


def _field(field: Field, *, quoted: bool) -> str:
    shape = _shape(field.shape, quoted=quoted)
    return shape if field.required else f"NotRequired[{shape}]"


def _shape(shape: Shape, *, prefix: str = "", quoted: bool = False) -> str:
    """Return the annotation; `quoted` where it is a value, because a name may stand before its definition."""
    text = _plain(shape, prefix)
    return f'"{text}"' if quoted and shape.kind != "enum" else text


def _plain(shape: Shape, prefix: str) -> str:
    inner = [_plain(each, prefix) for each in shape.parts]
    if shape.kind == "ref":
        return prefix + shape.name
    if shape.kind == "enum":
        return f"Literal[{', '.join(map(_literal, shape.values))}]"
    if shape.kind == "union":
        return " | ".join(dict.fromkeys(inner))
    if shape.kind in {"list", "map"}:
        return f"list[{inner[0]}]" if shape.kind == "list" else f"dict[str, {inner[0]}]"
    return _PLAIN.get(shape.kind, shape.kind)


def _literal(value: object) -> str:
    # Single quotes, because the whole may stand between double ones.
    return f"'{value}'" if isinstance(value, str) else str(value)


def _formatted(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    ran = subprocess.run(  # noqa: S603 - our own words
        [ruff, "format", "-"], input=text, capture_output=True, text=True, check=True
    )
    return ran.stdout
