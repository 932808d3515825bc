"""Reads settings from the environment, and secrets from files that only this process may read."""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

# systemd names the files of a folder of credentials after the folder's id, which is `florin` in our units.
_NAMES = ("florin_{}", "{}")
_ON = frozenset({"true", "on", "yes", "1"})
_OFF = frozenset({"false", "off", "no", "0"})


class SecretFiles(dict[str, str]):
    """The environment, where a file NAME in $CREDENTIALS_DIRECTORY replaces the variable NAME.

    The folder is that of systemd's `LoadCredential`, or where a container mounts its secrets.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        """Take variables, and what stands in files."""
        super().__init__(variables)
        folder = variables.get("CREDENTIALS_DIRECTORY")
        self._folder = Path(folder) if folder else None

    def __getitem__(self, name: str) -> str:
        """Return a file's text without the line's end, else the variable. Raises KeyError."""
        return self._read(name) or super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        """Whether there is a file or a variable of this name."""
        return super().__contains__(name) or self._read(str(name)) is not None

    def _read(self, name: str) -> str | None:
        if self._folder is None:
            return None
        for pattern in _NAMES:
            file = self._folder / pattern.format(name)
            if file.is_file():
                return file.read_text().strip()
        return None


def read_environment(variables: Mapping[str, str] = os.environ) -> environ.Env:
    """Return what reads settings from variables and secret files."""
    made = environ.Env()
    made.ENVIRON = SecretFiles(variables)
    return made


def parse_choice(name: str, text: str) -> bool | None:
    """Return whether a setting is on; None if its text is empty. Raises ImproperlyConfigured for any other word.

    For what must not be turned off by a word that was mistyped.
    """
    word = text.strip().lower()
    if not word:
        return None
    if word in _ON or word in _OFF:
        return word in _ON
    raise ImproperlyConfigured(f"{name} must be true or false.")


def lend_files(prefix: str, variables: MutableMapping[str, str] = os.environ) -> None:
    """Put secret files whose names begin so into the environment, for a library that reads nothing else."""
    folder = Path(variables.get("CREDENTIALS_DIRECTORY") or os.devnull)
    if folder.is_dir():
        files = SecretFiles(variables)
        for found in folder.iterdir():
            name = found.name.removeprefix("florin_")
            if name.startswith(prefix):
                variables[name] = files[name]
