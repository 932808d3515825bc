"""What the clients need of the OpenAPI document: shapes of data, and operations by resource."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

KEY: Final = "Idempotency-Key"
_PREFIX: Final = "/api/v1"
_METHODS: Final = ("get", "post", "patch", "put", "delete")
# Errors are read by hand, and no operation answers them.
_LEFT_OUT: Final = frozenset({"ErrorBody", "ErrorDetail"})
# CSV is for people and spreadsheets; the pages of a client are JSON.
_NO_QUERY: Final = frozenset({"format"})
_PLAIN: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "null"}


@dataclass(frozen=True)
class Shape:
    """A kind of data: str, int, float, bool, null, any, bytes, ref (`name`), enum (`values`), list, map or union (`parts`)."""

    kind: str
    name: str = ""
    values: tuple[Any, ...] = ()
    parts: tuple["Shape", ...] = ()


@dataclass(frozen=True)
class Field:
    """A field of an object, or a parameter of a query."""

    name: str
    shape: Shape
    required: bool


@dataclass(frozen=True)
class Type:
    """A named shape: an object where it has `fields`, else another name of `alias`."""

    name: str
    text: str
    fields: tuple[Field, ...] = ()
    alias: Shape | None = None


@dataclass(frozen=True)
class Operation:
    """A call. `words` name it in its resource. `repeats` are what makes sending it twice safe: body fields, and the header.

    `body` is the type's name, "" for none; `is_union` where one of several types is sent, and
    `body_required` where it has a field that must be there. `item` is the type of a page's
    elements, "" where the answer is no page. `path` has `{}` where each of `places` belongs.
    """

    resource: str
    words: tuple[str, ...]
    method: str
    path: str
    places: tuple[str, ...]
    query: tuple[Field, ...]
    body: str
    is_union: bool
    body_required: bool
    answer: Shape
    item: str
    repeats: tuple[str, ...]
    scope: str
    summary: str

    @property
    def query_type(self) -> str:
        """The name of the type of its query."""
        return "".join(word.title() for word in (*self.words, *self.resource.split("_"))) + "Query"

    @property
    def own_field(self) -> str:
        """The body's field that makes a repeat safe; "" for none."""
        return next((name for name in self.repeats if name != KEY), "")

    @property
    def takes_key(self) -> bool:
        """Whether it takes an Idempotency-Key."""
        return KEY in self.repeats

    @property
    def text(self) -> str:
        """A sentence about it, with the scope that a key needs."""
        return f"{self.summary}. Needs the scope `{self.scope}`." if self.scope else f"{self.summary}."


def types_of(document: Mapping[str, Any]) -> list[Type]:
    """Return the named types, in the order of their names."""
    schemas = document["components"]["schemas"]
    return [_type(name, schemas[name]) for name in sorted(schemas) if name not in _LEFT_OUT]


def operations_of(document: Mapping[str, Any]) -> dict[str, list[Operation]]:
    """Return the operations of each resource, in the document's order."""
    found: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if method in methods:
                operation = _operation(document, path.removeprefix(_PREFIX), method, methods[method])
                found.setdefault(operation.resource, []).append(operation)
    return dict(sorted(found.items()))


def shape_of(schema: Mapping[str, Any]) -> Shape:
    """Read a JSON schema. Raises ValueError for a form that no route has had so far."""
    if "$ref" in schema:
        return Shape("ref", schema["$ref"].rpartition("/")[2])
    if "oneOf" in schema:
        return Shape("union", parts=tuple(map(shape_of, schema["oneOf"])))
    if "allOf" in schema:
        (only,) = schema["allOf"]
        return shape_of(only)
    if "enum" in schema:
        return Shape("enum", values=tuple(schema["enum"]))
    kinds = schema.get("type", "any")
    if isinstance(kinds, list):
        return Shape("union", parts=tuple(shape_of({**schema, "type": kind}) for kind in kinds))
    if kinds == "array":
        return Shape("list", parts=(shape_of(schema["items"]),))
    if kinds == "object":
        inner = schema.get("additionalProperties") or {}
        return Shape("map", parts=(shape_of(inner if isinstance(inner, dict) else {}),))
    return Shape(_PLAIN.get(kinds, kinds) if kinds == "any" else _PLAIN[kinds])


def _type(name: str, schema: Mapping[str, Any]) -> Type:
    text = schema.get("description", "").partition("\n")[0]
    if "properties" not in schema:
        return Type(name, text, alias=shape_of(schema))
    required = set(schema.get("required", ()))
    fields = (Field(key, shape_of(value), key in required) for key, value in schema["properties"].items())
    return Type(name, text, fields=tuple(fields))


def _operation(document: Mapping[str, Any], path: str, method: str, told: Mapping[str, Any]) -> Operation:
    resource = next(part for part in path.split("/")[1:] if part != "test")
    body = next(_schemas(told.get("requestBody", {})), {}).get("$ref", "").rpartition("/")[2]
    schema = document["components"]["schemas"].get(body, {})
    answer, item = _answer(document, told)
    query = [each for each in told.get("parameters", ()) if each["in"] == "query" and each["name"] not in _NO_QUERY]
    return Operation(
        resource=resource,
        words=_words(told["operationId"], f"{path.split('/')[1]} {resource} {told['tags'][0]}"),
        method=method.upper(),
        path=re.sub(r"{\w+}", "{}", path),
        places=tuple(re.findall(r"{(\w+)}", path)),
        query=tuple(Field(each["name"], shape_of(each["schema"]), bool(each.get("required"))) for each in query),
        body=body,
        is_union="oneOf" in schema,
        body_required=bool(schema.get("required")),
        answer=answer,
        item=item,
        repeats=tuple(told.get("x-idempotency", ())),
        scope=told.get("x-required-scope", ""),
        summary=told["summary"],
    )


def _schemas(content_holder: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind, content in content_holder.get("content", {}).items():
        if kind == "application/json":
            yield content["schema"]


def _answer(document: Mapping[str, Any], told: Mapping[str, Any]) -> tuple[Shape, str]:
    """Return what a success answers, and the type of its elements if it is a page."""
    good = [answer for status, answer in told["responses"].items() if status.startswith("2")]
    schemas = {schema["$ref"] for answer in good for schema in _schemas(answer)}
    if not schemas:
        return Shape("bytes" if any(answer.get("content") for answer in good) else "null"), ""
    shapes = tuple(Shape("ref", ref.rpartition("/")[2]) for ref in sorted(schemas))
    answer = shapes[0] if len(shapes) == 1 else Shape("union", parts=shapes)
    is_paged = any(each["name"] == "starting_after" for each in told.get("parameters", ()))
    if not is_paged:
        return answer, ""
    fields = document["components"]["schemas"][answer.name]["properties"]
    return answer, fields["data"]["items"]["$ref"].rpartition("/")[2]


def _words(operation_id: str, context: str) -> tuple[str, ...]:
    """Return the words of a name without those that its resource says already: `createLink` of `links` is `create`."""
    first, *others = (word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+", operation_id))
    said = {_singular(word.lower()) for word in re.findall(r"[A-Za-z0-9]+", context)}
    return (first, *(word for word in others if _singular(word) not in said))


def _singular(word: str) -> str:
    return f"{word.removesuffix('ies')}y" if word.endswith("ies") else word.removesuffix("s")
