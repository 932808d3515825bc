"""The programs in the documentation's code blocks, and how a test runs one.

A block that is not run says `not run:` and the reason in its first line; the page shows that.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from markdown_it import MarkdownIt

from gateway.docs.pages import SECTIONS
from gateway.docs.rendering import NOT_RUN
from tests.tree import ROOT

RUNNERS: Final[Mapping[str, tuple[Sequence[str], str]]] = {
    "sh": (("sh", "-eu"), "example.sh"),
    "python": ((sys.executable,), "example.py"),
    "ts": (("node", str(ROOT / "tests" / "run_typescript.mjs")), "example.mts"),
    "js": (("node",), "example.mjs"),
    "php": (("php",), "example.php"),
    "go": (("go", "run"), "example.go"),
}
"""What runs each language, and the name of its file."""

MALFORMED: Final = ("", "t", "v1", "v1=00", "t=1,v1", "t=1,v1=\u00e9", "t=\u00e9,v1=00")
"""Headers without a valid signature. A verifier refuses them without an exception, which could end the program."""

# A Go program is compiled first, with what it imports.
_SECONDS: Final = 400


@dataclass(frozen=True)
class Program:
    """A code block of a page, the first one being number 0. `reason` says why it is not run; empty if it is."""

    page: str
    number: int
    language: str
    code: str
    reason: str

    def __str__(self) -> str:
        return f"{Path(self.page).stem}-{self.number}-{self.language}"


def programs() -> Iterator[Program]:
    """Read every block of every document that is in a language that runs."""
    documents = ["README.md", *(name for names in SECTIONS.values() for name in names)]
    for page in documents:
        yield from programs_of(page, (ROOT / page).read_text())


def programs_of(page: str, text: str) -> Iterator[Program]:
    """Read the blocks of one document."""
    fences = (token for token in MarkdownIt("commonmark").parse(text) if token.type == "fence")
    for number, fence in enumerate(fences):
        language, _, rest = fence.info.partition(" ")
        if language in RUNNERS or language == "sql":
            reason = rest.partition(NOT_RUN)[2]
            yield Program(page, number, language, fence.content, reason)


def running(page: str, *languages: str) -> list[Program]:
    """Return the blocks of a document that are run, in some languages or in all."""
    return [
        each
        for each in programs_of(page, (ROOT / page).read_text())
        if not each.reason and (not languages or each.language in languages)
    ]


def is_installed(language: str, capsys: pytest.CaptureFixture[str]) -> bool:
    """Return whether a language can be run here; say so in the output of the tests if it cannot."""
    if shutil.which(RUNNERS[language][0][0]) is not None:
        return True
    with capsys.disabled():
        # A worker's stdout belongs to pytest-xdist.
        sys.stderr.write(f"\nExamples in {language}: not run, not installed.\n")
    return False


def run(program: Program, folder: Path, settings: Mapping[str, str]) -> str:
    """Run a program to its end in a folder of its own and return what it printed. Fails if the program does."""
    ran = subprocess.run(
        _command(program, folder),
        cwd=folder,
        env=_environment(folder, settings),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@contextmanager
def started(command: Sequence[str], folder: Path, settings: Mapping[str, str]) -> Iterator[Path]:
    """Run a server in the background; yield the file of its output. It is ended with its children."""
    output = folder / "output"
    with (
        output.open("wb") as file,
        subprocess.Popen(
            command, cwd=folder, env=_environment(folder, settings), stdout=file, stderr=file, start_new_session=True
        ) as process,
    ):
        try:
            yield output
        finally:
            os.killpg(process.pid, 15)


def _command(program: Program, folder: Path) -> list[str]:
    command, name = RUNNERS[program.language]
    (folder / name).write_text(program.code)
    return [*command, name]


def _environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    # One store of compiled packages for all Go programs: compiling HTTP takes a minute.
    store = {"GOCACHE": str(ROOT / "var" / "test" / "go")}
    return {"PATH": os.environ["PATH"], "HOME": str(folder), **store, **settings}
