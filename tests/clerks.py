"""Asking a process that works for an installation: `tests.clerk` in its database, `tests.nursery` to start others."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[1]
STOP_SECONDS = PATIENCE_SECONDS


class Clerk:
    """The process of a module, asked by line."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            umask=0o077,
        )

    def ask(self, command: str, **arguments: Any) -> Any:
        """Let it do one thing and return its answer; fail with what went wrong there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": command} | arguments) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"{self._process.args!r} ended when asked to {command}"
        answer = json.loads(line)
        assert "answer" in answer, answer["error"]
        return answer["answer"]

    def close(self) -> None:
        """Let it end."""
        self._process.communicate(timeout=STOP_SECONDS)
