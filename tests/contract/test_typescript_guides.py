"""The TypeScript of the documentation has no error of types, by the strictest reading of its compiler."""

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.guides import Program, programs
from tests.tree import ROOT

COMPILER = ROOT / "node_modules" / "typescript" / "bin" / "tsc"
CLIENT = ROOT / "clients" / "api-typescript" / "src" / "index.ts"
SETTINGS = ROOT / "tests" / "tsconfig.json"
TYPESCRIPT = [each for each in programs() if each.language == "ts"]


def complaints(found: Sequence[Program], folder: Path) -> list[str]:
    """What the compiler says of programs, each a module of its own: one line for each error, with its file."""
    # Read as modules by their names, as Node.js runs them.
    names = [f"{each}.mts" for each in found]
    for name, program in zip(names, found, strict=True):
        (folder / name).write_text(program.code)
    # What a program imports from the client has the types of its sources.
    options = {"paths": {"@florin/client": [str(CLIENT)]}}
    told = {"extends": str(SETTINGS), "files": names, "compilerOptions": options}
    (folder / "tsconfig.json").write_text(json.dumps(told))
    ran = subprocess.run(
        ["node", COMPILER, "--pretty", "false"], cwd=folder, capture_output=True, text=True, check=False
    )
    lines = ran.stdout.splitlines()
    assert bool(lines) == bool(ran.returncode), ran.stderr
    return lines


def test_every_typescript_program_has_the_types_that_it_says(tmp_path: Path) -> None:
    assert len(TYPESCRIPT) >= 4
    assert complaints(TYPESCRIPT, tmp_path) == []


def test_an_error_of_types_and_what_nodejs_cannot_strip_are_found_where_they_are(tmp_path: Path) -> None:
    first, second, *others = TYPESCRIPT
    wrong = replace(first, code=first.code + "export const total: number = checkout.id;\n")
    unstrippable = replace(second, code="export enum Status { Paid }\n")
    told = [
        re.sub(r"\(.+?: error ", " ", line).partition(":")[0]
        for line in complaints([wrong, unstrippable, *others], tmp_path)
    ]
    assert sorted(told) == sorted([f"{wrong}.mts TS2322", f"{unstrippable}.mts TS1294"])
