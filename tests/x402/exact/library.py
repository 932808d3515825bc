"""The public standard's own library (PyPI), which judges and settles payments in a process of its own."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.contract.client import ApiClient
from tests.x402.exact.calls import verify
from tests.x402.exact.cases import Case
from tests.x402.exact.environment import foreign_python

PROGRAM: Final = Path(__file__).parent / "foreign" / "judge.py"


class Library:
    """The library in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.contracts = json.loads(self._read())

    def reason(self, body: dict[str, Any], node: str, *, key: str = "") -> str:
        """Why it would not take a payment, if its account has this key; "" where it would."""
        return self._ask({"body": body, "node": node, "key": key})

    def settle(self, body: dict[str, Any], node: str, *, key: str) -> dict[str, Any]:
        """Its answer to a settlement, which the account with this key carries out."""
        found: dict[str, Any] = json.loads(self._ask({"body": body, "node": node, "key": key, "settles": True}))
        return found

    def _ask(self, question: dict[str, Any]) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return self._read().strip()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the library's process ended"
        return line


@contextmanager
def open_library() -> Iterator[Library]:
    """Start it."""
    with subprocess.Popen(
        [foreign_python(), str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Library(process)
        process.communicate(timeout=60)


def check_same(library: Library, client: ApiClient, case: Case, body: Any) -> str:
    """Check that both judge alike; return how."""
    theirs = library.reason(body, case.node.url, key=case.node.accounts[3].key)
    ours = verify(client, body)
    assert ours.get("invalidReason", "") == theirs, ours
    assert ours["isValid"] is (theirs == "")
    return theirs
