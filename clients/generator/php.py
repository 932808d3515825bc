"""Writes the PHP client's `Types.php`, which only static analysers read, and `Operations.php` with a class for each resource."""

from collections.abc import Iterable, Iterator
from typing import Final

from clients.generator.description import Field, Operation, Shape, Type
from clients.generator.typescript import camel

_HEAD: Final = "<?php\n\n// {}. Written by script/clients.\n\ndeclare(strict_types=1);\n\nnamespace Florin{};\n\n"
_PLAIN: Final = {"str": "string", "any": "mixed", "bytes": "string"}


def files(types: Iterable[Type], operations: dict[str, list[Operation]]) -> dict[str, str]:
    """Return each file's text by its name: one class a file, as composer's loader wants them."""
    queries = [Type(each.query_type, "", each.query) for group in operations.values() for each in group if each.query]
    resources = {
        f"Operations/{_class(resource)}.php": _resource(resource, group) for resource, group in operations.items()
    }
    return {
        "Types.php": "".join(_types([*types, *queries])),
        "Operations.php": "".join(_operations(operations)),
        **resources,
    }


def _types(types: Iterable[Type]) -> Iterator[str]:
    yield _HEAD.format("Shapes of requests and answers, for phpstan and psalm", "")
    yield "/**\n"
    for each in types:
        shape = _shape(each.alias) if each.alias else f"array{{{', '.join(map(_field, each.fields))}}}"
        yield f" * @phpstan-type {each.name} {shape}\n"
    yield " */\nfinal class Types\n{\n}\n"


def _resource(resource: str, group: list[Operation]) -> str:
    head = (
        _HEAD.format(f"Operations of `/{resource}`", "\\Operations") + "use Florin\\Pages;\nuse Florin\\Resource;\n\n"
    )
    names = sorted({name for each in group for name in _names(each)})
    imports = "".join(f" * @phpstan-import-type {name} from \\Florin\\Types\n" for name in names)
    body = "\n".join(map(_method, group))
    return f"{head}/**\n{imports} */\nfinal class {_class(resource)} extends Resource\n{{\n{body}}}\n"


def _names(operation: Operation) -> Iterator[str]:
    if operation.body:
        yield operation.body
    if operation.query:
        yield operation.query_type
    if operation.item:
        yield operation.item
    else:
        yield from (each.name for each in (operation.answer, *operation.answer.parts) if each.kind == "ref")


def _operations(operations: dict[str, list[Operation]]) -> Iterator[str]:
    yield _HEAD.format("All resources", "")
    yield "abstract class Operations\n{\n"
    for resource in operations:
        yield f"    public readonly Operations\\{_class(resource)} ${camel(resource.split('_'))};\n"
    yield "\n    protected function __construct(Caller $caller)\n    {\n"
    for resource in operations:
        yield f"        $this->{camel(resource.split('_'))} = new Operations\\{_class(resource)}($caller);\n"
    yield "    }\n}\n"


def _method(operation: Operation) -> str:
    takes = [f"string ${camel(place.split('_'))}" for place in operation.places]
    gives, told = [], [operation.text]
    if operation.body:
        takes.append(f"array $body{' = []' if not operation.is_union and not operation.body_required else ''}")
        told.append(f"@param {operation.body} $body")
        gives.append("body: $body")
    if operation.takes_key:
        takes.append("?string $idempotencyKey = null")
        gives.append("key: $idempotencyKey")
    if operation.query:
        takes.append("array $query = []")
        told.append(f"@param {operation.query_type} $query")
        gives.append("query: $query")
    if operation.own_field:
        gives.append(f"own: '{operation.own_field}'")
    if operation.takes_key:
        gives.append("takesKey: true")
    if operation.answer.kind == "bytes":
        gives.append("raw: true")
    path = ", ".join([f"['{operation.path}'", *(f"${camel(each.split('_'))}" for each in operation.places)]) + "]"
    if operation.item:
        answer, result, call = "Pages", f"Pages<{operation.item}>", f"$this->pages({path}, $query)"
    else:
        answer, result = _native(operation.answer), _shape(operation.answer)
        call = f"$this->call('{operation.method}', {', '.join([path, *gives])})"
    if answer not in {result, "void"}:
        told.append(f"@return {result}")
    head = f"    public function {camel(operation.words)}({', '.join(takes)}): {answer}\n    {{\n"
    return _comment(told) + head + f"        {'' if answer == 'void' else 'return '}{call};\n    }}\n"


def _comment(lines: list[str]) -> str:
    first, *others = lines
    if not others:
        return f"    /** {first} */\n"
    rest = "".join(f"     * {line}\n" for line in others)
    return f"    /**\n     * {first}\n     *\n{rest}     */\n"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    return "null" if value is None else str(value).lower()


def _native(shape: Shape) -> str:
    return {"null": "void", "bytes": "string"}.get(shape.kind, "array")


def _class(resource: str) -> str:
    return "".join(word.title() for word in resource.split("_"))


def _field(field: Field) -> str:
    return f"{field.name}{'' if field.required else '?'}: {_shape(field.shape)}"


def _shape(shape: Shape) -> str:
    inner = [_shape(each) for each in shape.parts]
    if shape.kind == "ref":
        return shape.name
    if shape.kind == "enum":
        return "|".join(map(_literal, shape.values))
    if shape.kind == "union":
        return "|".join(dict.fromkeys(inner))
    if shape.kind in {"list", "map"}:
        return f"list<{inner[0]}>" if shape.kind == "list" else f"array<string, {inner[0]}>"
    return _PLAIN.get(shape.kind, shape.kind)
