"""The API reference as Markdown, one page for each tag, written from the OpenAPI document."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from gateway.pages.api_document import TAGS, document

REFERENCE = {"api/" + tag["name"].lower().replace(" ", "-"): tag["name"] for tag in TAGS}
_SCALARS = {"string", "integer", "number", "boolean", "null"}
_DEPTH = 4


@cache
def reference(slug: str) -> str:
    """Return the page of a tag as Markdown."""
    api = json.loads(document())
    [tag] = [each for each in api["tags"] if each["name"] == REFERENCE[slug]]
    return "\n".join(_page(api, tag))


def _page(api: dict[str, Any], tag: dict[str, str]) -> Iterator[str]:
    yield f"# {tag['name']}\n\n{tag['description']}\n"
    if tag["name"] == "Webhooks":
        yield "[Receive webhooks](/docs/webhooks/) says how to verify, answer and deduplicate them.\n"
        for name, operations in api["webhooks"].items():
            yield from _operation(api, f"Event `{name}`", operations["post"])
        return
    yield f"Addresses begin with `{api['servers'][0]['url']}`. [Errors](/docs/errors/) lists every code."
    yield "The [API explorer](/docs/api/explorer/) shows every operation in one page, and sends a request with your test key.\n"
    for path, operations in api["paths"].items():
        for method, operation in sorted(operations.items(), key=_reads):
            if tag["name"] in operation["tags"]:
                yield from _operation(api, f"`{method.upper()} {path}`", operation)


def _reads(operation: tuple[str, Any]) -> bool:
    """Return whether an operation only reads, for sorting."""
    return operation[0] == "get"


def _operation(api: dict[str, Any], line: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"## {operation['summary']}\n\n{line}\n"
    if operation["description"] != operation["summary"] + ".":
        yield operation["description"] + "\n"
    if line.startswith("`"):
        needed = "`Authorization: Bearer <API key>`" if operation["security"] else "none"
        yield f"Authentication: {needed}\n"
    if parameters := operation.get("parameters"):
        yield "| parameter | in | type | meaning |\n|---|---|---|---|"
        for each in parameters:
            cells = (f"`{each['name']}`", each["in"], _type(api, each["schema"]), _cell(each.get("description", "")))
            yield "| " + " | ".join(cells) + " |"
        yield ""
    if body := operation.get("requestBody"):
        yield from _body(api, "Request", body["content"])
    if not line.startswith("`"):
        return
    answers = operation["responses"]
    for status in (each for each in answers if each < "3"):
        title = f"{status}: {answers[status].get('description') or 'Success.'}"
        yield from _body(api, title, answers[status].get("content", {}), status)
    yield "| error | meaning |\n|---|---|"
    for status in (each for each in answers if each >= "3"):
        yield f"| {status} | {_cell(answers[status]['description'])} |"
    yield ""


def _body(api: dict[str, Any], title: str, content: dict[str, Any], status: str = "") -> Iterator[str]:
    yield f"**{title}**\n"
    for media_type, part in content.items():
        if not media_type.startswith("application/json"):
            yield f"`{media_type}`\n" if status else ""
            continue
        yield "| field | type | meaning |\n|---|---|---|"
        yield from _rows(api, part["schema"])
        yield ""
        if "example" in part:
            yield "```json"
            yield json.dumps(part["example"], indent=2, ensure_ascii=False)
            yield "```\n"


def _rows(api: dict[str, Any], schema: dict[str, Any], above: str = "", depth: int = 0) -> Iterator[str]:
    """Write each field of an object, and those of objects in it, as rows of a table."""
    schema = _resolved(api, schema)
    if schema.get("type") == "array":
        yield from _rows(api, schema["items"], above + "[]." if above else "", depth)
        return
    for one in schema.get("oneOf", []):
        yield from _rows(api, one, above, depth)
    required = set(schema.get("required", []))
    for name, field in schema.get("properties", {}).items():
        optional = "" if name in required else ", optional"
        text = _cell(field.get("description", ""))
        yield f"| `{above}{name}` | {_type(api, field)}{optional} | {text} |"
        if depth < _DEPTH:
            is_list = _resolved(api, field).get("type") == "array"
            inner = _resolved(api, field)["items"] if is_list else field
            mark = "[]." if is_list else "."
            yield from _rows(api, inner, f"{above}{name}{mark}", depth + 1)


def _resolved(api: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its reference resolved, and with the null alternative removed."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _resolved(api, api["components"]["schemas"][name])
    for word in ("allOf", "oneOf"):
        real = [each for each in schema.get(word, []) if each != {"type": "null"}]
        if len(real) == 1:
            return _resolved(api, real[0])
    return schema


def _type(api: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return a schema's type as readable text."""
    nullable = {"type": "null"} in schema.get("oneOf", [])
    found = _resolved(api, schema)
    kind = found.get("type", "object")
    if isinstance(kind, list):
        nullable = nullable or "null" in kind
        kind = next(each for each in kind if each != "null")
    if choices := found.get("enum"):
        kind = " \\| ".join(f"`{each}`" for each in choices if each is not None)
    elif kind == "array":
        kind = f"list of {_type(api, found['items'])}"
    elif "format" in found:
        kind = found["format"]
    return f"{kind} or null" if nullable else kind


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
