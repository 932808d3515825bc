"""`script/clients [--check]`: writes the generated files of the clients, or says which differ."""

import json
import sys
from pathlib import Path
from typing import Final

import django

from clients.generator import php, python, typescript
from clients.generator.description import operations_of, types_of

_CLIENTS: Final = Path(__file__).parent.parent
_FOLDERS: Final = {
    "api-python/src/florin": python.files,
    "api-typescript/src": typescript.files,
    "api-php/src": php.files,
}


def generated() -> dict[Path, str]:
    """Return the text of each generated file."""
    # It reads the settings.
    from gateway.pages.api_document import document

    described = json.loads(document())
    types, operations = types_of(described), operations_of(described)
    return {
        _CLIENTS / folder / name: text
        for folder, files in _FOLDERS.items()
        for name, text in files(types, operations).items()
    }


def main(arguments: list[str]) -> int:
    """Write the files; with `--check` only compare them. Return the exit code."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: script/clients [--check]\n")
        return 2
    stale = {path: text for path, text in generated().items() if not path.exists() or path.read_text() != text}
    for path, text in stale.items():
        sys.stdout.write(f"{path.relative_to(_CLIENTS.parent)}\n")
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if stale and arguments:
        sys.stdout.write("These differ from the API: run script/clients.\n")
    return int(bool(stale and arguments))


if __name__ == "__main__":
    django.setup()
    sys.exit(main(sys.argv[1:]))
