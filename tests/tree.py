"""The files of the repository, for the tests that judge the tree itself."""

from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APPS = (
    "gateway",
    "mails",
    "accounts",
    "wallets",
    "webhooks",
    "rates",
    "settlements",
    "checkouts",
    "x402",
    "links",
    "payouts",
    "notices",
    "greenfield",
    "reports",
    "demo",
)


def repository_files(*suffixes: str) -> Iterator[Path]:
    """Every file `.gitignore` lets in, or only those ending in one of `suffixes`.

    Walks the tree instead of asking git, so that it also holds in an exported copy.
    """
    for path in _files():
        # One that a test made and removed again is not there.
        if (not suffixes or path.suffix in suffixes) and path.is_file():
            yield path


def python_sources() -> Iterator[Path]:
    """All Python written by people: generated migrations left out."""
    return (path for path in repository_files(".py") if "migrations" not in path.parts)


def relative(path: Path) -> str:
    """The path as a message shows it."""
    return path.relative_to(ROOT).as_posix()


@cache
def _files() -> tuple[Path, ...]:
    """Every file, walked to once: dozens of rules look at all of them."""
    return tuple(sorted(_walk(ROOT, [".git", *_ignored_names()])))


def _ignored_names() -> list[str]:
    lines = (ROOT / ".gitignore").read_text().split()
    return [line.rstrip("/") for line in lines if not line.startswith("#")]


def _walk(folder: Path, ignored: list[str]) -> Iterator[Path]:
    for path in folder.iterdir():
        if any(fnmatch(path.name, pattern) for pattern in ignored):
            continue
        if path.is_dir():
            yield from _walk(path, ignored)
        else:
            yield path


def modules() -> list[Path]:
    """The product's modules, without packages' own files and migrations."""
    found = (path for app in APPS for path in (ROOT / app).rglob("*.py"))
    return [path.relative_to(ROOT) for path in found if path.name != "__init__.py" and "migrations" not in path.parts]
