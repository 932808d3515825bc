"""What an adapter reads of a JSON answer, and the shapes of two answers compared.

A path is written `logs[].topics[]`. A type is that of JSON: `integer` and `fraction` are one, `number`.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

Shape = Mapping[str, frozenset[str]]
"""The JSON types found at each path."""


class _TracedObject(dict[str, Any]):
    """An object that notes which of its fields are looked at."""

    def __init__(self, fields: Mapping[str, Any], path: str, read: set[str]) -> None:
        super().__init__(fields)
        self._path, self._read = path, read

    def __getitem__(self, name: str) -> Any:
        self._note(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._note(name)
        return super().get(name, default)

    def _note(self, name: str) -> None:
        if name in self:
            self._read.add(_below(self._path, name))


def traced(answer: Any, read: set[str], path: str = "") -> Any:
    """Return an answer that adds the paths of the fields that are looked at to `read`."""
    if isinstance(answer, dict):
        fields = {name: traced(one, read, _below(path, name)) for name, one in answer.items()}
        return _TracedObject(fields, path, read)
    if isinstance(answer, list):
        return [traced(one, read, f"{path}[]") for one in answer]
    return answer


def shape_of(*answers: Any) -> Shape:
    """Return the types of all answers' fields together."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for answer in answers:
        _add(answer, "", found)
    return {path: frozenset(types) for path, types in found.items()}


def lacking(read: set[str], *, recorded: Shape, emulated: Shape) -> list[str]:
    """Return what an emulator's answer lacks of the fields that were read, and those that have another type there."""
    return sorted(
        f"{path}: {sorted(recorded[path])}, not {sorted(emulated.get(path, ()))}"
        for path in read
        if not _known(recorded[path]) <= emulated.get(path, frozenset()) or path not in emulated
    )


def different(*, recorded: Shape, emulated: Shape) -> list[str]:
    """Return the fields that both answers have, and whose types are known in both and not the same."""
    return sorted(
        f"{path}: {sorted(types)}, not {sorted(emulated[path])}"
        for path, types in recorded.items()
        if path in emulated and _known(types) and _known(emulated[path]) and not _known(types) & _known(emulated[path])
    )


def _known(types: frozenset[str]) -> frozenset[str]:
    """Null says nothing of what a field holds otherwise."""
    return types - {"null"}


def _add(answer: Any, path: str, found: defaultdict[str, set[str]]) -> None:
    found[path].add(_type_of(answer))
    if isinstance(answer, dict):
        for name, one in answer.items():
            _add(one, _below(path, name), found)
    if isinstance(answer, list):
        for one in answer:
            _add(one, f"{path}[]", found)


def _type_of(answer: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list", type(None): "null"}
    return names.get(type(answer), "object")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
