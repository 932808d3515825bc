"""The archives of backups: two who write at once, power that fails, what is forgotten, and what a restore takes from them."""

import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.deploy.florinctl import florinctl, settings_of
from tests.deploy.test_foreign_folders import SEGMENT, Machine, open_machine
from tests.factories import NOON
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def machine() -> Iterator[Machine]:
    with open_machine() as made:
        yield made


def test_of_two_who_ship_at_once_one_waits_for_the_other(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.segment(1)
    begun, go_on = threading.Event(), threading.Event()
    put = florinctl.Vault.put
    names: list[str] = []

    def put_slowly(vault: Any, source: BinaryIO, name: str, place: Path) -> Path:
        names.append(name)
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return Path(put(vault, source, name, place))

    monkeypatch.setattr(florinctl.Vault, "put", put_slowly)
    with ThreadPoolExecutor(2) as pool:
        try:
            # As the timer's run and the end of a backup.
            first = pool.submit(florinctl.ship_wal, machine.settings, florinctl.Vault(None))
            assert begun.wait(PATIENCE_SECONDS)
            second = pool.submit(florinctl.ship_wal, machine.settings, florinctl.Vault(None))
            with pytest.raises(TimeoutError):
                second.result(0.3)
        finally:
            go_on.set()
        shipped = [one.result(PATIENCE_SECONDS).shipped for one in (first, second)]
    assert (names, shipped) == ([SEGMENT.format(1)], [1, 0])


def test_a_segment_leaves_the_spool_once_its_name_in_the_archive_is_on_disk(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    spooled, kept = machine.segment(1), machine.settings.backups / "wal" / SEGMENT.format(1)
    seen: list[tuple[bool, bool]] = []

    def fsync(handle: int) -> None:
        facts = os.fstat(handle)
        if stat.S_ISDIR(facts.st_mode) and facts.st_ino == kept.parent.stat().st_ino:
            seen.append((kept.exists(), spooled.exists()))

    monkeypatch.setattr(florinctl.os, "fsync", fsync)
    florinctl.ship_wal(machine.settings, florinctl.Vault(None))
    assert seen == [(True, True)]
    assert not spooled.exists()


def test_wal_that_the_newest_backup_begins_with_is_kept_after_a_restore_to_an_earlier_time(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, BACKUP_KEEP_FULL="2")
    known = []
    # The third one was taken after a restore to the time between the first two.
    for day, start in ((0, "00000001" + "10" * 8), (7, "00000001" + "30" * 8), (8, "00000002" + "20" * 8)):
        folder = settings.backups / "base" / start
        folder.mkdir(parents=True)
        (folder / "meta.json").touch()
        known.append(florinctl.Backup(folder, "full", None, NOON + timedelta(days=day), start))
    wal = settings.backups / "wal"
    wal.mkdir()
    for one in known:
        (wal / one.start_file).touch()
    florinctl._forget_old(settings, known)
    assert {one.name for one in wal.iterdir()} == {one.start_file for one in known[1:]}
    assert not known[0].folder.exists()


def test_a_restore_of_all_takes_no_end_from_a_restore_before(machine: Machine) -> None:
    (machine.content / "postgresql.auto.conf").write_text("recovery_target_time = '2020-01-01T00:00:00+00:00'\n")
    assert machine.back_up().returncode == 0
    place = machine.home / "theirs" / "restored"
    assert machine.call("restore", "--to", place).returncode == 0
    lines = (place / "data" / "postgresql.auto.conf").read_text().splitlines()
    # The last one counts, and an empty one is none.
    assert [one for one in lines if one.startswith("recovery_target_time")][-1] == "recovery_target_time = ''"


def test_a_folder_is_found_from_where_florinctl_was_started(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.back_up().returncode == 0
    monkeypatch.chdir(machine.home / "theirs")
    assert machine.call("restore", "--to", "restored").returncode == 0
    place = Path.cwd() / "restored"
    # PostgreSQL runs this in its own folder.
    assert f'cp "{place}/wal/%f"' in (place / "data" / "postgresql.auto.conf").read_text()


def test_the_signers_are_kept_anew_for_an_identity_that_replaces_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age = tmp_path / "bin" / "age"
    age.parent.mkdir()
    age.write_text("#!/bin/sh\nexec cat\n")
    age.chmod(0o755)
    monkeypatch.setenv("PATH", f"{age.parent}:{os.environ['PATH']}")
    settings = settings_of(tmp_path)
    seal = florinctl.seal_of(settings)
    seal.make_key()
    settings.key_backups.mkdir()
    for recipient, count in (("age1lost", 1), ("age1lost", 1), ("age1new", 2)):
        florinctl.keep_keys(settings, florinctl.Vault(recipient, seal=seal))
        assert len([*settings.key_backups.glob(f"{florinctl.KEPT_SIGNERS}*.age")]) == count
