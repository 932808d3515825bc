"""What the suite itself relies on: its plugins group, time and limit tests, and its database is empty and whole for each."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models.sql.compiler import SQLCompiler
from whitenoise.middleware import WhiteNoiseMiddleware

from accounts.models import Merchant
from tests import any_order, emptying, exhaustive, statics, template_database
from tests.checkouts.crowds import make_crowd
from tests.factories import make_checkout, make_merchant
from tests.slow import Moment
from tests.template_database import another_copy, fingerprint
from tests.tree import ROOT

GROUP = """
import os, pytest
pytestmark = [pytest.mark.xdist_group("together")]

@pytest.mark.parametrize("number", range(6))
def test_who_runs_it(number):
    with open(os.environ["TOLD"], "a") as told:
        told.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""
TWELVE = """
import pytest

@pytest.fixture
def dear():
    return 1

@pytest.mark.parametrize("number", range(12))
def test_one(number, dear):
    assert number != 7
"""
SLOW = """
import time

def test_computing(): _compute(0.5)
def test_listed(): _compute(0.5)
def test_quick(): pass

def _compute(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
"""


def run(folder: Path, module: str, *options: str, setup: str = "", plugins: str = "", **environment: str) -> str:
    """What pytest prints of a module alone, in a process of its own, with only these plugins."""
    (folder / "test_some.py").write_text(module)
    code = f"import sys, pathlib, pytest; {setup}; sys.exit(pytest.main(sys.argv[1:], [{plugins}]))"
    alone = ["-c", "/dev/null", "-p", "no:cacheprovider", "-rf", "--rootdir", str(folder), str(folder)]
    return subprocess.run(
        [sys.executable, "-c", code, *options, *alone],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("plugin", "workers"),
    # When pytest-xdist alone no longer takes a group apart, tests.grouping has become needless.
    [(("-p", "tests.grouping"), 1), ((), 2)],
    ids=["ours", "xdist alone"],
)
def test_one_worker_runs_a_group(tmp_path: Path, plugin: tuple[str, ...], workers: int) -> None:
    told = tmp_path / "told"
    run(tmp_path, GROUP, "-p", "xdist", "-n", "2", "--dist", "loadgroup", *plugin, setup="pass", TOLD=str(told))
    lines = told.read_text().split()
    assert (len(lines), len(set(lines))) == (6, workers)


@pytest.mark.unmeasured
@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n", "2")])
def test_a_run_tells_its_progress_what_failed_and_what_was_slow(tmp_path: Path, options: tuple[str, ...]) -> None:
    report = tmp_path / "timing.md"
    setup = "from tests import timing; timing.LINE_SECONDS = 0"
    told = run(tmp_path, TWELVE, *options, setup=setup, plugins="timing", FLORIN_TIMINGS_FILE=str(report))
    progress = re.findall(r"^ *\d+:\d\d +(\d+) % +(\d+) of 12 tests, (\d) failed$", told, re.MULTILINE)
    shares = [int(share) for share, _, _ in progress]
    assert shares == sorted(shares)
    assert (progress[-1][0], progress[-1][2]) == ("100", "1")
    assert told.count("FAILED  ") == 1
    # Why it failed is told at once, too, not only when the run has ended.
    assert re.search(r"FAILED  .*\n +\S*test_some\.py:\d+: assert", told)
    slowest = told.partition("the 10 slowest tests")[2]
    assert len(re.findall(r"^ +[\d.]+ s  \S+::test_one", slowest, re.MULTILINE)) == 10
    if not options:
        assert "12 tests on 1 workers" in report.read_text()
        assert "| fixture `dear` | 12 |" in report.read_text()


@pytest.mark.unmeasured
def test_a_planted_slow_test_fails_and_a_listed_one_passes(tmp_path: Path) -> None:
    listed = tmp_path / "slow.toml"
    listed.write_text('"test_some.py::test_listed" = "It must, for a reason."')
    # A tenth of the limit, so that the test is quick, on a host that counts as no slower than any other.
    setup = f"from tests import slow; slow.FILE = pathlib.Path({str(listed)!r}); slow.LIMIT_SECONDS = 0.1"
    setup += "; slow.LOOP_SECONDS = 60"
    told = run(tmp_path, SLOW, setup=setup, plugins="slow", FLORIN_SLOW_FAILS="1")
    assert "1 failed, 2 passed" in told
    assert "test_some.py::test_computing took more than" in told


@pytest.mark.parametrize(
    ("seconds", "computed", "held_up", "slowness", "is_slow"),
    [
        (2.9, 2.9, 0, 1, False),
        (3.1, 3.1, 0, 1, True),
        # It waited on a quiet host, and on a busy one.
        (3.1, 0, 0, 1, True),
        (3.1, 0, 3.0, 1, False),
        # It computed while others did, and on a host half as fast.
        (9, 3.1, 9, 1, True),
        (9, 2.9, 9, 1, False),
        (5.9, 5.9, 5.9, 2, False),
        (6.2, 6.2, 6.2, 2, True),
        # It waited for the database of such a host.
        (5.9, 0, 0, 2, False),
        (6.2, 0, 0, 2, True),
        # A fast host forgives no less.
        (2.9, 2.9, 0, 0.5, False),
        # A child that it ended had computed before.
        (0.1, 60, 0, 1, False),
    ],
)
def test_a_busy_or_slow_host_makes_the_limit_milder(
    seconds: float, computed: float, held_up: float, slowness: float, is_slow: bool
) -> None:
    begin = Moment(wall=100, processor=50, held_up=7)
    end = Moment(begin.wall + seconds, begin.processor + computed, begin.held_up + held_up)
    assert (end.seconds_since(begin, slowness=slowness) > 1.0) == is_slow


MEASURED = """
import threading
from tests.measuring import unmeasured
def before():
    return 5
def within():
    return 7
def in_a_thread():
    return 9
def after():
    return 11
def run_in_thread(what):
    thread = threading.Thread(target=what)
    thread.start()
    thread.join()
before()
for _ in range(3):
    with unmeasured():
        within()
        run_in_thread(in_a_thread)
run_in_thread(after)
"""
LINES = "import coverage; data = coverage.CoverageData('data'); data.read(); print(*data.lines(*data.measured_files()))"


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("program", "lines"), [(MEASURED, {5, 11}), (MEASURED.replace("unmeasured():", "open(__file__):"), {5, 7, 9, 11})]
)
def test_what_is_left_out_is_not_measured_and_all_else_is(tmp_path: Path, program: str, lines: set[int]) -> None:
    (tmp_path / "program.py").write_text(program)
    options = ["--data-file=data", "--rcfile=/dev/null", f"--include={tmp_path}/*"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    told = ""
    for argv in (["-m", "coverage", "run", *options, "program.py"], ["-c", LINES]):
        argv = [sys.executable, *argv]
        told = subprocess.run(argv, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert set(map(int, told.split())) & {5, 7, 9, 11} == lines


@pytest.mark.parametrize(("few", "taken"), [(1, [0]), (2, [0, 9]), (3, [0, 4, 9]), (99, list(range(10)))])
def test_a_sample_is_spread_from_the_first_to_the_last_and_an_exhaustive_run_takes_all(
    few: int, taken: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exhaustive, "EXHAUSTIVE", False)
    assert exhaustive.sample(range(10), few) == taken
    monkeypatch.setattr(exhaustive, "EXHAUSTIVE", True)
    assert exhaustive.sample(range(10), few) == list(range(10))


def static_files() -> dict[str, str]:
    """The path of each file that a new middleware serves, by its address."""
    middleware = WhiteNoiseMiddleware(lambda request: None)
    return {url: file.alternatives[-1][1] for url, file in middleware.files.items() if hasattr(file, "alternatives")}


def test_static_files_that_are_looked_for_once_are_those_a_middleware_finds(
    monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    remembered = static_files()
    with monkeypatch.context() as patch:
        patch.setattr(statics, "_found_by", pytest.fail)
        assert static_files() == remembered
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", statics._look)
        assert static_files() == remembered
    assert len(remembered) > 100
    (tmp_path / "of-this-test.css").write_text("p{}")
    settings.STATICFILES_DIRS = [tmp_path]
    assert "/static/of-this-test.css" in static_files()


@pytest.mark.django_db
def test_only_rows_that_were_asked_for_in_no_order_come_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make_merchant(), make_merchant()
    monkeypatch.setattr(SQLCompiler, "execute_sql", any_order.execute_sql)
    assert list(Merchant.objects.all()) == [second, first]
    assert list(Merchant.objects.filter(pk__in=[first.pk, second.pk])) == [second, first]
    assert list(Merchant.objects.order_by("pk")) == [first, second]
    assert (Merchant.objects.first(), Merchant.objects.count()) == (first, 2)


def rows() -> dict[str, int]:
    """How many rows each table has."""
    names = connection.introspection.table_names()
    return {name: int(value(f"SELECT count(*) FROM {name}")) for name in names}


def value(question: str) -> Any:
    """The one value that a question has for an answer."""
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchone()[0]


def left_by(empty: Callable[[], object]) -> dict[str, int]:
    """What is left of a checkout and all that belongs to it."""
    make_checkout(make_merchant())
    assert rows()["checkouts_checkout"] == 1
    empty()
    return rows()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("large_bytes", [0, emptying.LARGE_BYTES])
def test_emptying_leaves_what_a_flush_leaves(large_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emptying, "LARGE_BYTES", large_bytes)
    flushed = left_by(lambda: call_command("flush", verbosity=0, interactive=False))
    assert left_by(emptying.empty_tables) == flushed
    assert flushed["auth_permission"] > 0


@pytest.mark.django_db(transaction=True)
def test_what_a_test_rolled_back_or_counted_is_forgotten() -> None:
    with transaction.atomic():
        make_crowd(make_merchant(), 5_000)
        transaction.set_rollback(True)
    size = "SELECT pg_relation_size('checkouts_checkout')"
    counted = "SELECT reltuples FROM pg_class WHERE relname = 'checkouts_checkout'"
    assert value(size) > emptying.LARGE_BYTES
    emptying.clean_tables()
    assert value(size) == 0
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE checkouts_checkout")
    assert value(counted) == 0
    emptying.clean_tables()
    assert value(counted) == -1


def dump_of(database: str, file: Path) -> list[str]:
    assert template_database._tool("pg_dump", "--no-owner", "--file", str(file), database)
    # Two lines have a random word, for psql.
    return [line for line in file.read_text().splitlines() if not line.startswith("\\")]


@pytest.mark.django_db
def test_a_template_of_a_dump_is_like_the_one_that_was_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connection.settings_dict["NAME"] != template_database.TEMPLATE
    migrated = dump_of(template_database.TEMPLATE, tmp_path / "migrated.sql")
    monkeypatch.setattr(template_database, "KEPT", tmp_path)
    kept = tmp_path / "some.dump"
    template_database._keep(kept)
    with another_copy("restored") as url, connection._nodb_cursor() as server:
        # What another tree was migrated to is not taken.
        assert not template_database.fill(url)
        restored = urlsplit(url).path.removeprefix("/")
        monkeypatch.setattr(template_database, "TEMPLATE", restored)
        assert template_database._is_restored(server, kept)
        assert dump_of(restored, tmp_path / "restored.sql") == migrated
    assert len(migrated) > 1_000


def test_a_changed_migration_or_lock_file_makes_a_new_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apps = {path.parent.parent.name for path in template_database.migration_files()}
    assert {"accounts", "checkouts", "x402", "links", "wallets"} <= apps
    lock = tmp_path / "requirements" / "dev.txt"
    lock.parent.mkdir()
    lock.write_text("django==5.2.19")
    monkeypatch.setattr(template_database, "ROOT", tmp_path)
    before = fingerprint()
    assert fingerprint() == before
    lock.write_text("django==5.2.20")
    assert fingerprint() != before


@pytest.mark.django_db
def test_a_tests_own_transaction_may_be_idle_while_it_starts_a_node() -> None:
    """A process's may not, for more than some seconds; on a busy machine the server ended tests'."""
    assert value("SHOW idle_in_transaction_session_timeout") == "0"
