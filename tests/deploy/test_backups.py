"""Backups by PostgreSQL's own tools: what was there at a moment is there again, and nothing else."""

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.florinctl import Server, florinctl, server
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow]


@pytest.fixture
def ours() -> Iterator[Server]:
    with server() as made:
        made.sql("CREATE TABLE payments (id int PRIMARY KEY)")
        yield made


def pay(ours: Server, *ids: int) -> None:
    for one in ids:
        ours.sql(f"INSERT INTO payments VALUES ({one})")


def paid(postgres: Any, url: str) -> list[int]:
    told = florinctl.ask(postgres, url, "SELECT id FROM payments ORDER BY id")
    return [int(line) for line in told.splitlines()]


def await_archive(ours: Server) -> None:
    """Return once everything that was written is archived."""
    last = ours.sql("SELECT pg_walfile_name(pg_switch_wal())")
    wait_until(lambda: (ours.spool / last).exists() or not list(ours.spool.iterdir()))
    wait_until(lambda: ours.sql("SELECT last_archived_wal FROM pg_stat_archiver") >= last)


def reading(settings: Any, **options: Any) -> Any:
    """What decrypts and verifies."""
    return florinctl.Vault(None, seal=florinctl.seal_of(settings), **options)


def back_up(settings: Any, **options: Any) -> Any:
    return florinctl.back_up(settings, **({"full": False, "plain": True} | options))


def restored(ours: Server, settings: Any, *, at: datetime | None, **options: Any) -> list[int]:
    """The rows of a restored server."""
    place = ours.home / "restored"
    shutil.rmtree(place, ignore_errors=True)
    florinctl.restore(settings, place, at=at, vault=reading(settings, **options))
    with florinctl.running(settings, ours.postgres, place / "data") as url:
        return paid(ours.postgres, url)


def test_the_moment_before_a_mistake_comes_back_from_full_incremental_and_wal(ours: Server) -> None:
    settings = ours.settings()
    pay(ours, 1)
    full = back_up(settings)
    pay(ours, 2)
    incremental = back_up(settings)
    pay(ours, 3)
    before = datetime.fromisoformat(ours.sql("SELECT clock_timestamp()"))
    ours.sql("DELETE FROM payments")
    pay(ours, 4)
    await_archive(ours)
    florinctl.ship_wal(settings, florinctl.Vault(None, seal=florinctl.seal_of(settings)))
    ours.stop()
    assert (full.kind, incremental.kind) == ("full", "incremental")
    assert incremental.parent == full.name
    assert restored(ours, settings, at=before) == [1, 2, 3]
    assert restored(ours, settings, at=None) == [4]
    with pytest.raises(florinctl.ProblemError, match="finished by then"):
        restored(ours, settings, at=before - timedelta(days=1))


def test_the_moment_of_an_earlier_restore_ends_no_later_one(ours: Server) -> None:
    settings = ours.settings()
    # As a restore up to a moment leaves it in the file that each later backup has.
    ours.sql("ALTER SYSTEM SET recovery_target_time = '2020-01-01T00:00:00+00:00'")
    pay(ours, 1)
    back_up(settings)
    pay(ours, 2)
    await_archive(ours)
    florinctl.ship_wal(settings, florinctl.Vault(None, seal=florinctl.seal_of(settings)))
    ours.stop()
    assert restored(ours, settings, at=None) == [1, 2]


def test_what_is_not_empty_is_never_overwritten(ours: Server) -> None:
    settings = ours.settings()
    back_up(settings)
    place = ours.home / "taken"
    place.mkdir()
    (place / "theirs").touch()
    with pytest.raises(florinctl.ProblemError, match="not empty"):
        florinctl.restore(settings, place, at=None, vault=reading(settings))


def test_a_drill_restores_runs_the_checks_and_says_when(ours: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ours.settings()
    pay(ours, 1, 2)
    back_up(settings)
    seen: list[Any] = []

    def manage(_: Any, check: str, *, database: str) -> str:
        seen.append((check, paid(ours.postgres, database)))
        return ""

    monkeypatch.setattr(florinctl, "manage", manage)
    florinctl.drill(settings, vault=reading(settings), checks=("check_totals", "verify_audit"))
    assert seen == [("check_totals", [1, 2]), ("verify_audit", [1, 2])]
    status = florinctl.read_status(settings)
    assert status["drill_at"] >= status["backup_at"]
    assert list(settings.var.glob("florinctl-*")) == []


def test_a_drill_that_finds_something_is_no_good_one(ours: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ours.settings()
    back_up(settings)

    def manage(*_: Any, **__: Any) -> str:
        raise florinctl.ProblemError("2 differences.")

    monkeypatch.setattr(florinctl, "manage", manage)
    with pytest.raises(florinctl.ProblemError, match="2 differences"):
        florinctl.drill(settings, vault=reading(settings), checks=("check_totals",))
    assert "drill_at" not in florinctl.read_status(settings)


def test_a_damaged_backup_is_no_good_one(ours: Server) -> None:
    settings = ours.settings()
    taken = back_up(settings)
    (taken.folder / "base.tar").write_bytes(b"")
    with pytest.raises((florinctl.ProblemError, tarfile.TarError)):
        florinctl.drill(settings, vault=reading(settings), checks=())
    assert "drill_at" not in florinctl.read_status(settings)


def test_what_no_kept_backup_needs_is_forgotten(ours: Server) -> None:
    settings = ours.settings(BACKUP_KEEP_FULL="2")
    first = back_up(settings, full=True)
    between = back_up(settings)
    second = back_up(settings, full=True)
    assert {one.name for one in florinctl.list_backups(settings)} == {first.name, between.name, second.name}
    third = back_up(settings, full=True)
    kept = [one.name for one in florinctl.list_backups(settings)]
    assert kept == [second.name, third.name]
    assert not first.folder.exists()
    wal = {file.name[:24] for file in (settings.backups / "wal").iterdir()}
    assert second.start_file in wal
    assert min(wal) >= second.start_file
    pay(ours, 7)
    assert restored(ours, settings, at=None) == []


def test_encrypted_backups_need_the_identity(ours: Server, tmp_path: Path) -> None:
    if shutil.which("age") is None:
        print("age is not installed: encryption is not tried")  # noqa: T201
        return
    identity, other = tmp_path / "identity", tmp_path / "other"
    recipients = []
    for file in (identity, other):
        subprocess.run(["age-keygen", "-o", file], check=True, capture_output=True)
        told = subprocess.run(["age-keygen", "-y", file], check=True, capture_output=True, text=True)
        recipients.append(told.stdout.strip())
    settings = ours.settings(
        BACKUP_RECIPIENT=recipients[0], BACKUP_KEYS_RECIPIENT=recipients[1], SECRET_KEY="a-planted-secret"
    )
    pay(ours, 1)
    taken = back_up(settings, plain=False)
    files = [one for one in settings.backups.rglob("*") if one.is_file()]
    assert {one.suffix for one in files} == {".age", ".json", ".sig"}
    keys, signers = sorted(settings.key_backups.glob("*.age"))
    assert b"a-planted-secret" not in keys.read_bytes()
    with pytest.raises(florinctl.ProblemError, match="--identity"):
        restored(ours, settings, at=None)
    with pytest.raises(florinctl.ProblemError, match="age failed"):
        restored(ours, settings, at=None, identity=other)
    assert restored(ours, settings, at=None, identity=identity) == [1]
    assert datetime.now(UTC) - taken.finished < timedelta(minutes=5)
    with (tmp_path / "env").open("wb") as env:
        reading(settings, identity=other).get(keys, env)
    assert "a-planted-secret" in (tmp_path / "env").read_text()
    with (tmp_path / "signers").open("wb") as kept:
        reading(settings, identity=other).get(signers, kept)
    known = florinctl.seal_of(settings).signers
    assert (tmp_path / "signers").read_text() == known.read_text()


def test_a_drill_runs_the_products_own_checks_on_its_own_tables(ours: Server) -> None:
    settings = ours.settings(ENCRYPTION_KEYS=florinctl.fernet_key(), FLORIN_ENV="development")
    florinctl.manage(settings, "migrate", "--noinput", database=ours.url)
    back_up(settings)
    took = florinctl.drill(settings, vault=reading(settings), checks=florinctl.PRODUCT_CHECKS)
    assert took > 0
    assert florinctl.read_status(settings)["drill_seconds"] == took


QUOTES = """
    SELECT to_json(q)::text || checkout.dues::text || checkout.price || checkout.currency FROM checkouts_quote q JOIN checkouts_checkout checkout ON checkout.id = q.checkout_id
"""
DUES = {"EURC": {"units": 23_000_000, "currency": "EUR", "rate": "1.088260"}}
MAKE_A_QUOTE = f"from tests.rates.playing import make_quoted; make_quoted(dues={DUES})"


def test_a_quote_comes_back_with_its_checkout_as_it_was(ours: Server) -> None:
    settings = ours.settings(ENCRYPTION_KEYS=florinctl.fernet_key(), FLORIN_ENV="development")
    florinctl.manage(settings, "migrate", "--noinput", database=ours.url)
    florinctl.manage(settings, "shell", "--no-imports", "--command", MAKE_A_QUOTE, database=ours.url)
    before = ours.sql(QUOTES)
    assert '"name": "kraken"' in before
    assert '"units": 23000000' in before
    assert before.endswith("23.00EUR")
    back_up(settings)
    place = ours.home / "restored"
    florinctl.restore(settings, place, at=None, vault=reading(settings))
    with florinctl.running(settings, ours.postgres, place / "data") as url:
        assert florinctl.ask(ours.postgres, url, QUOTES) == before
