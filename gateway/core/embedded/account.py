"""The system account the engines run under, and what it can reach."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

# Between the uids of people (from 1000) and systemd's dynamic ones (from 61184).
FIRST_UID, UID_COUNT = 40_000, 20_000


class EnginesError(Exception):
    """The engines cannot be prepared, started or stopped; the message says why."""


class EnginesBusyError(EnginesError):
    """Another supervisor holds this home."""


@dataclass(frozen=True)
class EngineAccount:
    """`uid` and `gid` of the engine processes; `switches` when not our own."""

    uid: int
    gid: int
    switches: bool


def engine_account(key: str) -> EngineAccount:
    """Return the account for the home with the given key (hexadecimal digits)."""
    if os.geteuid() != 0:
        return EngineAccount(uid=os.geteuid(), gid=os.getegid(), switches=False)
    uid = FIRST_UID + int(key, 16) % UID_COUNT
    return EngineAccount(uid=uid, gid=uid, switches=True)


def initdb_account(account: EngineAccount) -> EngineAccount:
    """Return the account that runs initdb: it refuses a uid without an entry in the user database."""
    if not account.switches:
        return account
    nobody = pwd.getpwnam("nobody")
    return EngineAccount(uid=nobody.pw_uid, gid=nobody.pw_gid, switches=True)


def reachable(path: Path, account: EngineAccount) -> bool:
    """Return whether `account` may pass every folder down to and including `path`."""
    if not account.switches:
        return True
    folders = (path, *path.parents)
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in folders)


def give(path: Path, account: EngineAccount) -> None:
    """Make `account` the owner of a file, or of a folder and its contents."""
    if not account.switches:
        return
    os.chown(path, account.uid, account.gid, follow_symlinks=False)
    for folder, names, files in os.walk(path):
        for name in (*names, *files):
            target = Path(folder, name)
            os.chown(target, account.uid, account.gid, follow_symlinks=False)
