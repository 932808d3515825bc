"""What the demo's command takes. All of it runs in test_demo.py, at night."""

from pathlib import Path

import pytest
from django.core.management import call_command

from demo.management.commands.demo import Command


def test_it_runs_with_chains_unless_they_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    def run(command: Command, var: Path, port: int, *, with_chains: bool) -> None:
        told.append((port, with_chains))

    monkeypatch.setattr(Command, "_run", run)
    call_command(Command(), "--no-chain")
    call_command(Command(), "--port", "8100")
    assert told == [(8000, False), (8100, True)]
