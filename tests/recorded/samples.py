"""The recorded answers of mainnet nodes beside this file. README.md has the source and the mark of each."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Sample:
    """One recorded answer: `kind` says how far it is a node's own, `response` is its JSON body."""

    name: str
    kind: str
    source: str
    request: Any
    response: Any

    @property
    def result(self) -> Any:
        """The result of a JSON-RPC answer."""
        return self.response["result"]


def names() -> list[str]:
    """Return the names of all samples, which are those of their files without `.json`."""
    return sorted(path.name.removesuffix(".json") for path in FOLDER.glob("*.json"))


def sample(name: str) -> Sample:
    """Return a sample by its name."""
    told = json.loads((FOLDER / f"{name}.json").read_text())
    return Sample(name, told["kind"], told["source"], told["request"], told["response"])
