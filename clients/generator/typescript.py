"""Writes the TypeScript client's `types.ts` and `operations.ts`."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from clients.generator.description import Field, Operation, Shape, Type

_HEAD: Final = "// {}. Written by script/clients.\n\n"
_PLAIN: Final = {
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "any": "unknown",
    "bytes": "Uint8Array",
}


def files(types: Iterable[Type], operations: dict[str, list[Operation]]) -> dict[str, str]:
    """Return each file's text by its name."""
    queries = [Type(each.query_type, "", each.query) for group in operations.values() for each in group if each.query]
    return {"types.ts": "".join(_types([*types, *queries])), "operations.ts": "".join(_operations(operations))}


def camel(words: Iterable[str]) -> str:
    """Return words as one name: `rotateSecret`."""
    first, *others = words
    return first + "".join(word.title() for word in others)


def _types(types: Iterable[Type]) -> Iterator[str]:
    yield _HEAD.format("Shapes of requests and answers")
    for each in types:
        if each.text:
            yield f"/** {each.text} */\n"
        if each.alias is not None:
            yield f"export type {each.name} = {_shape(each.alias)};\n\n"
        else:
            yield f"export type {each.name} = {{\n{''.join(map(_field, each.fields))}}};\n\n"


def _operations(operations: dict[str, list[Operation]]) -> Iterator[str]:
    yield _HEAD.format("The API's operations, by resource")
    yield 'import { Resource, type KeyOption } from "./calls.js";\nimport { type Pages } from "./pages.js";\n'
    yield 'import type * as t from "./types.js";\n\n'
    for resource, group in operations.items():
        yield f"/** Operations of `/{resource}`. */\nexport class {_class(resource)} extends Resource {{\n"
        yield "\n".join(map(_method, group)) + "}\n\n"
    yield "/** All resources. */\nexport class Operations {\n"
    for resource in operations:
        yield f"  readonly {camel(resource.split('_'))}: {_class(resource)};\n"
    yield "\n  constructor(resource: Resource) {\n"
    for resource in operations:
        yield f"    this.{camel(resource.split('_'))} = new {_class(resource)}(resource.caller);\n"
    yield "  }\n}\n"


def _method(operation: Operation) -> str:
    takes = [f"{camel(place.split('_'))}: string" for place in operation.places]
    gives = []
    if operation.body:
        is_optional = not operation.is_union and not operation.body_required
        takes.append(f"body: t.{operation.body}{' = {}' if is_optional else ''}")
        gives.append("body")
    if operation.takes_key:
        takes.append("options: KeyOption = {}")
        gives.append("key: options.idempotencyKey")
    if operation.query:
        takes.append(f"query: t.{operation.query_type} = {{}}")
        gives.append("query")
    if operation.own_field:
        gives.append(f'own: "{operation.own_field}"')
    if operation.takes_key:
        gives.append("takesKey: true")
    if operation.answer.kind == "bytes":
        gives.append("raw: true")
    path = json.dumps([operation.path])[:-1] + "".join(f", {camel(each.split('_'))}" for each in operation.places) + "]"
    if operation.item:
        answer, call = f"Pages<t.{operation.item}>", f"this.pages({path}, query)"
    else:
        answer = f"Promise<{_shape(operation.answer, prefix='t.')}>"
        call = f'this.call("{operation.method}", {path}, {{ {", ".join(gives)} }})'.replace("{  }", "{}")
    head = f"  {camel(operation.words)}({', '.join(takes)}): {answer} {{\n"
    return f"  /** {operation.text} */\n{head}    return {call};\n  }}\n"


def _class(resource: str) -> str:
    return "".join(word.title() for word in resource.split("_"))


def _field(field: Field) -> str:
    name = field.name if re.fullmatch(r"[A-Za-z_]\w*", field.name) else json.dumps(field.name)
    return f"  {name}{'' if field.required else '?'}: {_shape(field.shape)};\n"


def _shape(shape: Shape, *, prefix: str = "") -> str:
    inner = [_shape(each, prefix=prefix) for each in shape.parts]
    if shape.kind == "ref":
        return prefix + shape.name
    if shape.kind == "enum":
        return " | ".join(map(json.dumps, shape.values))
    if shape.kind == "union":
        return " | ".join(dict.fromkeys(inner))
    if shape.kind in {"list", "map"}:
        return f"Array<{inner[0]}>" if shape.kind == "list" else f"Record<string, {inner[0]}>"
    return _PLAIN.get(shape.kind, shape.kind)
