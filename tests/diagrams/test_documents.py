"""docs/diagrams says what models and flows say today."""

import subprocess
from pathlib import Path

from tests.diagrams.__main__ import FOLDER, documents, stale
from tests.tree import ROOT


def test_the_diagrams_are_up_to_date() -> None:
    assert list(stale()) == [], "run script/diagrams"


def test_every_diagram_in_the_folder_is_made_by_the_script() -> None:
    assert {path.name for path in FOLDER.iterdir()} == documents().keys()


def test_a_changed_diagram_is_seen(tmp_path: Path) -> None:
    for name, text in documents().items():
        (tmp_path / name).write_text(text)
    assert list(stale(tmp_path)) == []
    changed = tmp_path / "tables.md"
    changed.write_text(changed.read_text().replace("AuditSeal", "Seal"))
    assert list(stale(tmp_path)) == ["tables.md"]


def test_the_command_checks_the_diagrams() -> None:
    done = subprocess.run(["script/diagrams", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0
