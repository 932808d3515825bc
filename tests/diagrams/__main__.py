"""`script/diagrams`: write docs/diagrams, or say with --check which of them are stale."""

import sys
from collections.abc import Iterator
from pathlib import Path

import django

from tests.tree import ROOT

FOLDER = ROOT / "docs" / "diagrams"


def documents() -> dict[str, str]:
    """What each file in docs/diagrams has to say. Needs Django's apps."""
    from tests.diagrams import entities, sequences

    return {"tables.md": entities.document(), "payments.md": sequences.document()}


def stale(folder: Path = FOLDER) -> Iterator[str]:
    """Yield the names of the files that say something else."""
    for name, text in documents().items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            yield name


def main() -> int:
    """Write the files, or check them; return the exit status."""
    django.setup()
    if "--check" in sys.argv[1:]:
        old = list(stale())
        for name in old:
            sys.stderr.write(f"docs/diagrams/{name} is stale; run script/diagrams.\n")
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for name, text in documents().items():
        (FOLDER / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
