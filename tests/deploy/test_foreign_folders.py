"""Root works in folders of the database's user, who may put anything there: it reads and writes no file of anybody else."""

import io
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.florinctl import call, florinctl, settings_of
from tests.factories import NOON

NOBODY = (65_534, 65_534) if os.geteuid() == 0 else None
SEGMENT = "00000001000000000000000{}"
SECRET = "SECRET_KEY=the-planted-secret"
PASSWORD = "hunter2:\\@"
BASEBACKUP = """#!/bin/sh
for one in "$@"; do test -z "$next" || place="$one"; next=; test "$one" != --pgdata || next=1; done
umask 077; mkdir "$place"
echo "$@" > {told}; cat "$PGPASSFILE" >> {told}; stat -c %a "$PGPASSFILE" >> {told}
echo '{{"WAL-Ranges": [{{"Timeline": 1, "Start-LSN": "0/3000028"}}]}}' > "$place/backup_manifest"
tar -C {content} -cf "$place/base.tar" .
{more}
"""
PSQL = """#!/bin/sh
echo "$@" > {told}; cat "$PGPASSFILE" >> {told}; stat -c %a "$PGPASSFILE" >> {told}
echo florin
"""


class Machine:
    """A machine with stand-ins for PostgreSQL's tools, whose user owns the spool."""

    def __init__(self, home: Path) -> None:
        self.home, self.told = home, home / "told"
        self.spool, self.content = home / "spool", home / "content"
        self.theirs(home / "theirs")
        self.theirs(self.spool)
        self.theirs(self.content)
        self.settings = settings_of(
            home,
            PG_BIN=str(home / "bin"),
            PG_USER="nobody",
            DATABASE_URL="postgresql://florin:hunter2%3A%5C%40@db:5432/florin?password=hunter2%3A%5C%40&sslmode=prefer",
        )
        (home / "bin").mkdir()
        self.settings.var.mkdir()
        self.told.touch()
        self.give(self.told)
        self.program("pg_basebackup")
        for name in ("pg_combinebackup", "pg_verifybackup"):
            self.program(name, "#!/bin/sh\n")
        (self.content / "PG_VERSION").write_text("18\n")
        self.secret = home / "root-only"
        self.secret.write_text(SECRET)
        self.secret.chmod(0o600)

    def program(self, name: str, text: str = BASEBACKUP, more: str = "") -> None:
        file = self.home / "bin" / name
        words = {"told": self.told, "content": self.content, "more": more}
        file.write_text(text.format(**words))
        file.chmod(0o755)

    def give(self, path: Path) -> None:
        if NOBODY:
            os.chown(path, *NOBODY, follow_symlinks=False)

    def theirs(self, folder: Path) -> Path:
        folder.mkdir()
        self.give(folder)
        return folder

    def call(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return call("--env", self.settings.env_file, *arguments)

    def back_up(self) -> subprocess.CompletedProcess[str]:
        return self.call("backup", "--unencrypted")

    def segment(self, number: int, fill: bytes = b"w") -> Path:
        file = self.spool / SEGMENT.format(number)
        file.write_bytes(fill * florinctl.SEGMENT_BYTES)
        self.give(file)
        return file

    def archived(self, folder: str = "wal") -> set[str]:
        files = (self.settings.backups / folder).rglob("*")
        return {one.name for one in files if one.is_file() and one.suffix != ".sig"}

    def published(self) -> bool:
        """Whether the secret is in the archive of the data."""
        files = [one for one in self.settings.backups.rglob("*") if one.is_file()]
        return any(SECRET.encode() in one.read_bytes() for one in files)


@contextmanager
def open_machine() -> Iterator[Machine]:
    """A machine in a folder that its users can reach: pytest closes its own ones to them, also while another run begins."""
    with tempfile.TemporaryDirectory(prefix="florinctl-test-") as folder:
        Path(folder).chmod(0o755)
        yield Machine(Path(folder))


@pytest.fixture
def machine() -> Iterator[Machine]:
    with open_machine() as made:
        yield made


def test_entries_of_the_spool_that_are_no_segment_are_set_aside_and_shipping_goes_on(machine: Machine) -> None:
    names = [machine.spool / SEGMENT.format(number) for number in range(1, 8)]
    link, hard, folder, fifo, zero, short, plug = names
    link.symlink_to(machine.secret)
    os.link(machine.secret, hard)
    folder.mkdir()
    os.mkfifo(fifo)
    zero.symlink_to("/dev/zero")
    short.write_bytes(b"short")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(plug))
    (machine.spool / "a\nname").write_text("x")
    for one in machine.spool.iterdir():
        if one != hard:
            machine.give(one)
    machine.segment(8)
    told = machine.call("backup", "--wal-only", "--unencrypted")
    assert (told.returncode, "Traceback" in told.stderr) == (1, False)
    assert told.stdout.count("Set aside") == 8
    assert machine.archived() == {SEGMENT.format(8)}
    assert machine.secret.read_text() == SECRET
    assert not machine.published()
    left = list(machine.spool.iterdir())
    assert len(left) == 8
    assert all(one.name.startswith(".aside-") for one in left)
    machine.segment(9)
    again = machine.call("backup", "--wal-only", "--unencrypted")
    assert (again.returncode, machine.archived()) == (0, {SEGMENT.format(8), SEGMENT.format(9)})
    found = list(florinctl.check_backups(machine.settings))
    assert ".aside-" in next(one.problem for one in found if one.name == "wal")


def test_a_segment_with_a_second_name_is_not_shipped(machine: Machine) -> None:
    """Whoever has the spool may link any file there, also one of the right length."""
    kept = machine.segment(1).rename(machine.home / "elsewhere")
    os.link(kept, machine.spool / SEGMENT.format(1))
    told = machine.call("backup", "--wal-only", "--unencrypted")
    assert (told.returncode, "has a second name" in told.stdout) == (1, True)
    assert machine.archived() == set()


@pytest.mark.parametrize("kind", ["a link", "a pipe", "a device", "a foreign file"])
def test_what_takes_a_names_place_before_it_is_opened_is_not_read(
    kind: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, look = machine.segment(1), os.stat
    makers: dict[str, Callable[[], object]] = {
        "a link": lambda: file.symlink_to(machine.secret),
        "a pipe": lambda: os.mkfifo(file),
        "a device": lambda: file.symlink_to("/dev/zero"),
        "a foreign file": lambda: file.write_text(SECRET),
    }

    def swapped(*asked: Any, **options: Any) -> os.stat_result:
        seen = look(*asked, **options)
        file.unlink()
        makers[kind]()
        return seen

    with florinctl.open_folder(machine.spool) as spool:
        monkeypatch.setattr(florinctl.os, "stat", swapped)
        words = {"a pipe": "no regular file", "a foreign file": "belongs to user"}
        with pytest.raises(florinctl.ForeignError, match=words.get(kind, "is a link")):
            florinctl.open_regular(spool, file.name, owners=lambda _: False).__enter__()


def test_no_more_is_copied_of_a_file_than_it_had_at_first(tmp_path: Path) -> None:
    file = tmp_path / "grows"
    file.write_bytes(b"x" * 10)

    class Sink(io.BytesIO):
        def write(self, data: Any) -> int:
            assert self.tell() < 100, "it is copied without end"
            with file.open("ab") as more:
                more.write(b"y" * 10)
            return super().write(data)

    with file.open("rb") as source:
        florinctl.pour(source, sink := Sink())
    assert sink.getvalue() == b"x" * 10


def test_a_segment_of_the_archive_is_never_replaced(machine: Machine) -> None:
    for fill in (b"a", b"a", b"b"):
        machine.segment(1, fill)
        machine.call("backup", "--wal-only", "--unencrypted")
    assert (machine.settings.backups / "wal" / SEGMENT.format(1)).read_bytes()[:1] == (b"a")
    [aside] = machine.spool.iterdir()
    assert aside.read_bytes()[:1] == b"b"


@pytest.mark.skipif(NOBODY is None, reason="everything is ours without root")
def test_a_folder_that_another_users_link_leads_to_is_not_used(machine: Machine) -> None:
    theirs = machine.home / "theirs" / "here"
    theirs.symlink_to("/")
    machine.give(theirs)
    place = theirs / str(machine.home).lstrip("/") / "place"
    with pytest.raises(florinctl.ForeignError, match="another user"), florinctl.open_folder(place, make=True):
        pass
    assert not (machine.home / "place").exists()
    with pytest.raises(florinctl.ForeignError):
        florinctl.write_private(place, "x")
    # A link of root's own is the operator's.
    (machine.home / "ours").symlink_to(machine.home / "theirs")
    with florinctl.open_folder(machine.home / "ours" / "new", make=True):
        assert (machine.home / "theirs" / "new").is_dir()


@pytest.mark.parametrize(
    "attack",
    [
        'ln -sf {secret} "$place/base.tar"',
        'ln -sf {secret} "$place/backup_manifest"',
        'ln -s {secret} "$place/16385.tar"',
        'mkfifo "$place/16385.tar"',
        'cp {told} "$place/florin.env"',
        'mv "$place" "$place.kept"; ln -s {folder} "$place"',
    ],
)
def test_what_is_no_file_of_the_tool_is_not_put_into_the_archive(machine: Machine, attack: str) -> None:
    decoy = machine.home / "decoy"
    decoy.mkdir()
    (decoy / "base.tar").write_text(SECRET)
    attack = attack.format(secret=machine.secret, told=machine.told, folder=decoy)
    machine.program("pg_basebackup", more=attack)
    told = machine.back_up()
    assert (told.returncode, "Traceback" in told.stderr) == (1, False)
    assert not machine.published()
    assert "meta.json" not in machine.archived("base")


def test_a_database_with_a_tablespace_has_no_backup_that_a_restore_would_put_over_the_live_one(
    machine: Machine,
) -> None:
    machine.program("pg_basebackup", more='touch "$place/16385.tar"')
    told = machine.back_up()
    assert (told.returncode, "drop it" in told.stderr) == (1, True)
    assert "meta.json" not in machine.archived("base")
    older = florinctl.Backup(machine.home, "full", None, NOON, "", {"files": ["16385.tar"]})
    with pytest.raises(florinctl.ProblemError, match="by hand"):
        florinctl._unpack(older, florinctl.Vault(None), machine.spool, NOBODY)


def test_however_much_is_set_aside_few_lines_tell_it(machine: Machine) -> None:
    for number in range(30):
        (machine.spool / f"x{number}").touch()
    told = machine.call("backup", "--wal-only", "--unencrypted")
    assert (told.returncode, told.stdout.count("Set aside"), "10 more." in told.stdout) == (1, 21, True)


def test_a_whole_backup_says_too_what_is_no_segment(machine: Machine) -> None:
    (machine.spool / "x").touch()
    told = machine.back_up()
    assert (told.returncode, told.stdout.count("Set aside")) == (0, 1)


def ask_for_the_role(machine: Machine) -> None:
    machine.program("psql", PSQL)
    assert [one.name for one in florinctl.check_role(machine.settings)] == ["database role"]


def take_a_backup(machine: Machine) -> None:
    assert machine.back_up().returncode == 0


@pytest.mark.parametrize("work", [take_a_backup, ask_for_the_role])
def test_the_databases_password_is_in_no_argument(work: Callable[[Machine], None], machine: Machine) -> None:
    work(machine)
    arguments, passwords, mode = machine.told.read_text().splitlines()
    assert "hunter2" not in arguments
    assert "postgresql://florin@db:5432/florin?sslmode=prefer" in arguments
    # As libpq's file is written, and for its reader alone.
    assert (passwords, mode) == (r"*:*:*:*:hunter2\:\\@", "600")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://a:b@h/d", ("postgresql://a@h/d", "b")),
        ("postgresql://a@h/d", ("postgresql://a@h/d", None)),
        ("postgresql:///d?host=/s", ("postgresql:///d?host=/s", None)),
        ("postgres://a:p%40@h1:1,h2:2/d", ("postgres://a@h1:1,h2:2/d", "p@")),
        ("postgresql://a:b@c@h/d", ("postgresql://a@h/d", "b@c")),
    ],
)
def test_a_url_is_told_without_its_password(url: str, expected: Any) -> None:
    assert florinctl.without_password(url) == expected


def test_another_user_writes_nothing_where_only_root_may(machine: Machine) -> None:
    target = machine.home / "theirs" / "parent_manifest"
    target.symlink_to(machine.secret)
    work = partial(florinctl.receive, target)
    with pytest.raises(florinctl.ProblemError):
        florinctl.lower(NOBODY, work, lambda sink: sink.write(b"x" * 1_000_000))
    assert machine.secret.read_text() == SECRET


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """An archive of one entry, and a file behind it."""
    kept = io.BytesIO()
    with tarfile.open(fileobj=kept, mode="w") as archive:
        made = tarfile.TarInfo(name)
        made.type, made.linkname, made.mode = kind, link, 0o7777
        archive.addfile(made)
        archive.addfile(tarfile.TarInfo("after"))
    return kept.getvalue()


ESCAPED = Path(tempfile.gettempdir()) / f"florin-escaped-{os.getpid()}"
LEADS_OUT = ("a link", "a hard link", "a device", "a disk", "a fifo", "a way out")
"""What tarfile's own filter refuses."""


def sparse() -> bytes:
    """A file of four bytes that says it is a petabyte long."""
    kept = io.BytesIO()
    with tarfile.open(fileobj=kept, mode="w", format=tarfile.PAX_FORMAT) as archive:
        made = tarfile.TarInfo("x")
        made.size = 4
        made.pax_headers = {"GNU.sparse.map": "0,4", "GNU.sparse.size": str(1 << 50)}
        archive.addfile(made, io.BytesIO(b"1234"))
    return kept.getvalue()


HOSTILE = {
    "a link": entry("x", tarfile.SYMTYPE, "/etc/passwd"),
    "a link inside": entry("x", tarfile.SYMTYPE, "after"),
    "a hard link": entry("x", tarfile.LNKTYPE, "../root-only"),
    "a device": entry("x", tarfile.CHRTYPE),
    "a disk": entry("x", tarfile.BLKTYPE),
    "a fifo": entry("x", tarfile.FIFOTYPE),
    "a sparse file": entry("x", tarfile.GNUTYPE_SPARSE),
    "an absolute name": entry(str(ESCAPED)),
    "a way out": entry("a/../../x"),
    "a sparse file of pax": sparse(),
    "no archive": b"x" * 4_096,
}


@pytest.mark.parametrize("archive", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("filters", [True, False])
def test_an_archive_of_files_and_folders_alone_is_unpacked(
    archive: bytes, filters: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not filters:
        # As Debian 12's Python 3.11.2.
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    place = machine.theirs(machine.home / "place")
    ESCAPED.unlink(missing_ok=True)
    with pytest.raises(florinctl.ProblemError):
        florinctl.unpack(place, io.BytesIO(archive))
    assert list(place.iterdir()) == []
    assert not ESCAPED.exists()


@pytest.mark.parametrize("name", LEADS_OUT)
def test_tarfiles_own_filter_refuses_what_leads_out_as_well(
    name: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(florinctl, "_require_plain", lambda _: None)
    place = machine.theirs(machine.home / "place")
    with pytest.raises(florinctl.ProblemError, match="damaged"):
        florinctl.unpack(place, io.BytesIO(HOSTILE[name]))
    assert list(place.iterdir()) == []


def test_nothing_that_is_unpacked_runs_as_somebody_else(machine: Machine) -> None:
    place = machine.theirs(machine.home / "place")
    florinctl.unpack(place, io.BytesIO(entry("x")))
    assert (place / "x").stat().st_mode & 0o7777 == 0o600


def test_a_restored_file_that_is_a_link_grows_nothing_of_root(machine: Machine) -> None:
    (machine.content / "postgresql.auto.conf").symlink_to(machine.secret)
    assert machine.back_up().returncode == 0
    place = machine.home / "theirs" / "restored"
    told = machine.call("restore", "--to", place)
    assert (told.returncode, "neither a file nor a folder" in told.stderr) == (1, True)
    assert machine.secret.read_text() == SECRET


def resign(machine: Machine, file: Path, _: Path) -> None:
    """Sign a file as somebody else."""
    seal = florinctl.Seal(machine.home / "mallory", machine.home / "signers")
    seal.make_key()
    florinctl.Vault(None, seal=seal).sign(file, file, "-")


def unsign(machine: Machine, file: Path, _: Path) -> None:
    file.with_name(f"{file.name}.sig").unlink()


def change(machine: Machine, file: Path, _: Path) -> None:
    file.write_bytes(file.read_bytes() + b" ")


def swap(_: Machine, file: Path, other: Path) -> None:
    """Put a file of ours, with its signature, under another's name."""
    for end in ("", ".sig"):
        content = file.with_name(f"{other.name}{end}").read_bytes()
        file.with_name(f"{file.name}{end}").write_bytes(content)


def link(machine: Machine, file: Path, _: Path) -> None:
    kept = file.with_name("kept")
    file.rename(kept)
    file.symlink_to(kept)


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (unsign, "no signature"),
        (resign, "knows only its own key"),
        (change, "not written by a signer"),
        (swap, "not "),
        (link, "no regular file"),
    ],
)
@pytest.mark.parametrize("name", ["base.tar", "meta.json", "wal"])
def test_a_backup_counts_only_as_its_signer_left_it(
    machine: Machine, spoil: Callable[[Machine, Path, Path], None], word: str, name: str
) -> None:
    machine.segment(3)
    assert machine.back_up().returncode == 0
    [file] = machine.settings.backups.rglob(SEGMENT.format(3) if name == "wal" else name)
    other = file.with_name("backup_manifest" if name != "wal" else SEGMENT.format(4))
    if name == "wal":
        machine.segment(4, b"v")
        machine.call("backup", "--wal-only", "--unencrypted")
    spoil(machine, file, other)
    places = iter(machine.home / "theirs" / str(number) for number in range(2))
    told = machine.call("restore", "--to", next(places))
    assert (told.returncode, word in told.stderr) == (1, True), told.stderr
    assert "Traceback" not in told.stderr
    # Old archives have no signatures; a wrong one is wrong with the flag, too.
    told = machine.call("restore", "--to", next(places), "--unsigned")
    assert told.returncode == (0 if spoil is unsign else 1)


def test_a_machine_that_knows_no_signer_says_so(machine: Machine) -> None:
    assert machine.back_up().returncode == 0
    signers = machine.home / "backup-signers"
    kept = signers.rename(machine.home / "kept-elsewhere")
    place = machine.home / "theirs" / "restored"
    told = machine.call("restore", "--to", place)
    assert "--signers" in told.stderr
    assert "BACKUP_KEYS_DIR" in told.stderr
    assert machine.call("restore", "--to", place, "--signers", kept).returncode == 0
    assert (place / "data" / "recovery.signal").exists()
    assert (place / "data").stat().st_uid == (NOBODY or (os.geteuid(),))[0]


@contextmanager
def after_the_loss_of(machine: Machine) -> Iterator[Machine]:
    """A new machine with copies of both archives and nothing else."""
    with open_machine() as new:
        for kept in ("backups", "keys"):
            shutil.copytree(machine.home / kept, new.home / kept)
        yield new


def test_the_key_archive_says_whose_backups_count_after_the_machine_is_lost(machine: Machine) -> None:
    machine.segment(3)
    assert machine.back_up().returncode == 0
    with after_the_loss_of(machine) as new:
        assert not (new.home / "backup-signers").exists()
        [signers] = (one for one in new.settings.key_backups.glob("backup-signers-*") if one.suffix != ".sig")
        place = new.home / "theirs" / "restored"
        told = new.call("restore", "--to", place, "--signers", signers)
        assert told.returncode == 0, told.stderr
        assert (place / "wal" / SEGMENT.format(3)).exists()


def test_a_new_machine_does_not_call_another_ones_backups_forged(machine: Machine) -> None:
    assert machine.back_up().returncode == 0
    argv = ["ssh-keygen", "-l", "-f", str(machine.home / "backup-signing-key")]
    listed = subprocess.run(argv, check=True, capture_output=True, text=True)
    with after_the_loss_of(machine) as new:
        # As florinctl install does.
        florinctl.seal_of(new.settings).make_key()
        place = new.home / "theirs" / "restored"
        told = new.call("restore", "--to", place)
        assert told.returncode == 1
        for word in (listed.stdout.split()[1], "--signers", "key archive"):
            assert word in told.stderr
        assert "not written by a signer" not in told.stderr
        # Who knows more keys than its own was told whose backups count.
        florinctl.Seal(new.home / "other-key", new.home / "backup-signers").make_key()
        told = new.call("restore", "--to", place)
        assert "not written by a signer" in told.stderr


def test_backups_of_an_old_key_count_after_a_new_one_was_made(machine: Machine) -> None:
    assert machine.back_up().returncode == 0
    (machine.home / "backup-signing-key").unlink()
    machine.segment(4)
    assert machine.call("backup", "--wal-only", "--unencrypted").returncode == 0
    assert len((machine.home / "backup-signers").read_text().splitlines()) == 2
    place = machine.home / "theirs" / "restored"
    assert machine.call("restore", "--to", place).returncode == 0
    assert (place / "wal" / SEGMENT.format(4)).exists()


def test_a_web_process_that_planted_a_link_is_drained_all_the_same(machine: Machine) -> None:
    run = machine.theirs(machine.home / "theirs" / "florin-web-1")
    (run / "drain").symlink_to(machine.home / "made-by-root")
    machine.give(run / "drain")
    values = {**machine.settings.env, "FLORIN_RUN": str(machine.home / "theirs")}
    settings = florinctl.Settings(machine.settings.env_file, values)
    assert florinctl.drain(settings, "florin-web@1")
    assert not (machine.home / "made-by-root").exists()
    assert not (run / "drain").is_symlink()
    assert (run / "drain").stat().st_uid == run.stat().st_uid


def test_a_web_process_that_planted_a_folder_stops_no_upgrade(machine: Machine) -> None:
    run = machine.theirs(machine.home / "theirs" / "florin-web-1")
    machine.theirs(run / "drain")
    values = {**machine.settings.env, "FLORIN_RUN": str(machine.home / "theirs")}
    assert florinctl.drain(florinctl.Settings(machine.settings.env_file, values), "florin-web@1")
