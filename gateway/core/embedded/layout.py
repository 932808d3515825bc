"""Folders and files of one home."""

import hashlib
import os
import secrets
import tempfile
from pathlib import Path

from gateway.core.embedded.account import EngineAccount, EnginesError, engine_account, give, reachable

# Where root keeps the files that the engines' account must reach, when the home lies in a private folder (a checkout under
# /root).
SYSTEM_DATA = Path("/var/lib/florin")

# sun_path holds 108 bytes on Linux and 104 on macOS, terminator included.
LONGEST_SOCKET_PATH = 100

SOCKET_PORT = 5432
"""PostgreSQL names its socket after a port, even when it listens on none."""


class Layout:
    """Paths of the engines' files under `home`.

    `home` itself (lock, state file, passwords, logs) belongs to the supervisor; `data` and `run` (clusters, sockets) to the
    engines' account.
    """

    def __init__(self, home: Path) -> None:
        self.home = home.resolve()
        self.key = hashlib.sha256(str(self.home).encode()).hexdigest()[:12]
        self.account: EngineAccount = engine_account(self.key)
        self.lock_file = self.home / "lock"
        self.state_file = self.home / "state.json"

    def open_home(self) -> None:
        """Create the home folder; the engines may pass through it, but not list it."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.home.chmod(0o711 if self.account.switches else 0o700)

    @property
    def data(self) -> Path:
        """Return the folder of the clusters; needs an open home."""
        if reachable(self.home, self.account):
            return self.home
        return SYSTEM_DATA / self.key

    @property
    def run(self) -> Path:
        """Return the folder of the sockets; elsewhere if its path in the home would be too long for a socket."""
        run = self.data / "run"
        longest = run / f".s.PGSQL.{SOCKET_PORT}.lock"
        if len(os.fsencode(longest)) <= LONGEST_SOCKET_PATH:
            return run
        return Path(tempfile.gettempdir(), f".florin-{self.account.uid}-{self.key}")

    @property
    def pg_data(self) -> Path:
        return self.data / "postgres"

    @property
    def valkey_data(self) -> Path:
        return self.data / "valkey"

    def log(self, name: str) -> Path:
        return self.home / f"{name}.log"

    def open_data(self) -> None:
        """Create the folders that the engines write to.

        Raises `EnginesError` when another user owns a folder of that name: anyone can create one in the shared temporary
        folder.
        """
        for folder in (SYSTEM_DATA, self.data):
            if folder != self.home and self.data != self.home:
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(0o711)
        for folder in (self.run, self.valkey_data):
            self.open_private(folder)

    def open_private(self, folder: Path) -> None:
        """Create `folder` for the engines' account alone."""
        folder.mkdir(mode=0o700, exist_ok=True)
        owner = folder.lstat().st_uid
        if folder.is_symlink() or owner not in {self.account.uid, os.geteuid()}:
            message = f"{folder} belongs to somebody else"
            raise EnginesError(message)
        folder.chmod(0o700)
        give(folder, self.account)

    def password(self, name: str) -> str:
        """Return the password kept under `name`, created at first use."""
        path = self.home / f"{name}.password"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(32))
        return path.read_text()


def write_private(path: Path, text: str) -> None:
    """Replace `path` atomically by a file that only its owner can read."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(text)
    draft.rename(path)
