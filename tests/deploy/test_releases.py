"""Installing, upgrading and rolling back under systemd, whose program is a stand-in that writes down what it is told."""

import os
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from gateway.docs.pages import SECTIONS
from tests.deploy.florinctl import call, florinctl, settings_of
from tests.tree import ROOT

NEEDED = {
    "BASE_URL": "https://pay.example",
    "ALLOWED_HOSTS": "pay.example",
    "DATABASE_URL": "postgresql:///florin",
    "REDIS_URL": "redis://127.0.0.1",
    "EMAIL_HOST": "mail.example",
}


class Machine:
    """A machine of a test: what systemd and manage.py were told, and which ports are ready."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run = folder / "run"
        self.settings = settings_of(folder, **NEEDED, FLORIN_RUN=str(self.run), PROXY_SECONDS="0")
        self.releases = florinctl.Releases(folder / "opt", folder / "units")
        self.releases.units.mkdir()
        self.told: list[str] = []
        self.ready: Callable[[int], bool] = lambda _port: True
        self.folder = folder
        programs = folder / "bin"
        programs.mkdir()
        self.log = folder / "systemctl.log"
        program = programs / "systemctl"
        program.write_text(f'#!/bin/sh\necho "$@" >> {self.log}\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        monkeypatch.setattr(florinctl, "add_user", lambda: None)
        monkeypatch.setattr(florinctl, "install_packages", lambda _place: None)
        monkeypatch.setattr(florinctl, "manage", self._manage)
        monkeypatch.setattr(florinctl, "is_ready", lambda _settings, port: self.ready(port))
        monkeypatch.setattr(florinctl, "READY_SECONDS", 0.0)
        # More than one release in a second.
        monkeypatch.setattr(florinctl, "release_of", self._version)

    def _manage(self, settings: Any, *arguments: str) -> str:
        shown = arguments if "fits" in arguments else arguments[:1]
        self.told.append(f"{settings.home.name}: {' '.join(shown)}")
        (self.settings.var / "static").mkdir(exist_ok=True)
        return ""

    def _version(self, source: Path) -> str:
        file = source / "version"
        # What is laid out has it in its folder's name.
        return file.read_text() if file.exists() else source.resolve().name.partition("-")[0]

    def source(self, version: str) -> Path:
        """A source tree of this version."""
        place = self.folder / f"source-{version}"
        (place / "requirements").mkdir(parents=True)
        (place / "requirements" / "server.txt").touch()
        (place / "deploy").mkdir()
        (place / "deploy" / "florinctl").touch()
        (place / "deploy" / "systemd").mkdir()
        for unit in (ROOT / "deploy" / "systemd").iterdir():
            (place / "deploy" / "systemd" / unit.name).write_text(unit.read_text())
        (place / "version").write_text(version)
        return place

    def install(self, version: str) -> Path:
        return Path(florinctl.install(self.settings, self.releases, self.source(version)))

    def upgrade(self, version: str) -> Path:
        return Path(florinctl.upgrade(self.settings, self.releases, self.source(version)))

    def services(self) -> list[str]:
        """What systemd was told since the last call."""
        told = self.peek()
        self.log.unlink(missing_ok=True)
        return told

    def peek(self) -> list[str]:
        """The same, without forgetting it."""
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_an_installation_is_checked_migrated_and_started(machine: Machine) -> None:
    release = machine.install("1.0")
    assert machine.told == [f"{release.name}: {what}" for what in ("check", "migrate", "collectstatic")]
    assert machine.releases.current.resolve() == release
    reload, enable = machine.services()
    assert reload == "daemon-reload"
    assert enable.startswith("enable --now florin.target florin-web@1 florin-web@2")
    unit = machine.releases.units / "florin-worker.service"
    assert "ProtectSystem=strict" in unit.read_text()


def test_web_processes_roll_one_by_one_behind_readiness(machine: Machine) -> None:
    first = machine.install("1.0")
    machine.services()
    machine.told.clear()
    asked: list[tuple[int, int]] = []

    def ready(port: int) -> bool:
        asked.append((port, len(machine.log.read_text().splitlines())))
        return True

    machine.ready = ready
    second = machine.upgrade("1.1")
    assert machine.services() == [
        "daemon-reload",
        "restart florin-web@1",
        "restart florin-web@2",
        "restart florin-streams florin-worker florin-beat",
    ]
    # Each port is asked before the next one restarts.
    assert asked == [(8001, 2), (8002, 3)]
    assert machine.releases.current.resolve() == second
    assert machine.releases.previous.resolve() == first
    # What removes something comes last.
    assert machine.told == [f"{second.name}: {what}" for what in ("check", "schema", "collectstatic", "migrate")]


def test_the_proxy_sees_each_process_leave_and_come_back(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.install("1.0")
    machine.services()
    drains = [machine.run / f"florin-web-{number}" / "drain" for number in (1, 2)]
    for drain in drains:
        drain.parent.mkdir(parents=True)
    seen: list[tuple[int, list[bool]]] = []

    def await_proxy(_settings: Any) -> None:
        restarts = [line for line in machine.peek() if line.startswith("restart")]
        seen.append((len(restarts), [drain.exists() for drain in drains]))
        # As systemd does with the folder of a process that stopped.
        if restarts:
            drains[len(restarts) - 1].unlink(missing_ok=True)

    monkeypatch.setattr(florinctl, "await_proxy", await_proxy)
    machine.upgrade("1.1")
    assert seen == [(0, [True, False]), (1, [True, False]), (1, [False, True]), (2, [False, True])]


def test_the_units_of_the_new_release_are_put_in_place(machine: Machine) -> None:
    machine.install("1.0")
    unit = machine.releases.units / "florin-web@.service"
    unit.write_text("of the release before")
    machine.services()
    machine.upgrade("1.1")
    assert "ExecStart=" in unit.read_text()
    assert machine.services()[0] == "daemon-reload"


def test_a_release_that_is_not_ready_is_rolled_back(machine: Machine) -> None:
    first = machine.install("1.0")
    machine.services()
    answers = iter([False])
    machine.ready = lambda _port: next(answers, True)
    with pytest.raises(florinctl.ProblemError, match="The release before runs again"):
        machine.upgrade("1.1")
    assert machine.releases.current.resolve() == first
    # The second web process never left the old release while the first was not ready.
    assert machine.services()[:4] == ["daemon-reload", "restart florin-web@1"] * 2
    # Nothing was removed from under the release before.
    assert not machine.told[-1].endswith("migrate")


def fail_to_start(machine: Machine, version: str) -> None:
    """Upgrade to a release whose first web process is not ready."""
    answers = iter([False])
    machine.ready = lambda _port: next(answers, True)
    with pytest.raises(florinctl.ProblemError, match="The release before runs again"):
        machine.upgrade(version)


def test_after_an_upgrade_that_failed_a_rollback_goes_where_it_went_before(machine: Machine) -> None:
    first = machine.install("1.0")
    fail_to_start(machine, "1.1")
    # The release that was not ready is none to return to.
    with pytest.raises(florinctl.ProblemError, match="no release before"):
        florinctl.rollback(machine.settings, machine.releases)
    machine.upgrade("1.2")
    fail_to_start(machine, "1.3")
    assert florinctl.rollback(machine.settings, machine.releases) == first


def test_no_file_or_unit_of_the_release_before_keeps_its_processes_from_returning(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = machine.install("1.0")

    def manage(settings: Any, verb: str, *_: str) -> str:
        if (settings.home, verb) == (first, "collectstatic"):
            raise florinctl.ProblemError("no space left for files")
        return ""

    def put_units(*_: Any) -> None:
        raise OSError("no space left for units")

    monkeypatch.setattr(florinctl, "manage", manage)
    monkeypatch.setattr(florinctl, "put_units", put_units)
    machine.services()
    with pytest.raises(florinctl.ProblemError, match=r"left for units\nThe release before runs again"):
        machine.upgrade("1.1")
    assert machine.releases.current.resolve() == first
    assert [line.split()[0] for line in machine.services()] == ["restart"] * 3
    told = capsys.readouterr().out
    assert "left for files\n" in told
    assert "left for units\n" in told


@pytest.mark.parametrize("again", [False, True])
def test_an_upgrade_that_lost_its_power_keeps_the_way_back(
    again: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = machine.install("1.0")

    def lose_power(_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as power:
        power.setattr(florinctl, "roll", lose_power)
        with pytest.raises(KeyboardInterrupt):
            machine.upgrade("1.1")
    if again:
        machine.upgrade("1.2")
    assert florinctl.rollback(machine.settings, machine.releases) == first


def test_what_returns_starts_by_its_own_units_and_finds_its_own_files(machine: Machine) -> None:
    first, name = machine.install("1.0"), "florin-beat.service"
    (first / "deploy" / "systemd" / name).write_text("of 1.0")
    machine.upgrade("1.1")
    machine.services()
    florinctl.rollback(machine.settings, machine.releases)
    assert (machine.releases.units / name).read_text() == "of 1.0"
    assert machine.services()[:2] == ["daemon-reload", "restart florin-web@1"]
    assert machine.told[-1] == f"{first.name}: collectstatic"


def test_a_packages_units_give_way_to_those_of_another_release_and_of_the_operator(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, name = machine.install("1.0"), "florin-beat.service"
    unit, own = machine.releases.units / name, machine.releases.units / "florin-worker.service"
    for place in (first / "deploy" / "systemd" / name, unit):
        place.write_text("of 1.0")
    own.write_text("of the operator")
    package = machine.folder / "package"
    shutil.copytree(ROOT / "deploy" / "systemd", package / "deploy" / "systemd")
    (package / "manage.py").touch()
    monkeypatch.setattr(florinctl, "PACKAGED", package)
    # What an installation without the package put there would hide the package's.
    machine.upgrade("1.1")
    assert not unit.exists()
    florinctl.rollback(machine.settings, machine.releases)
    assert unit.read_text() == f"{florinctl.INSTEAD}of 1.0"
    florinctl.rollback(machine.settings, machine.releases)
    assert not unit.exists()
    assert own.read_text() == "of the operator"


def test_an_upgrade_makes_the_folder_that_the_units_ask_for(machine: Machine) -> None:
    machine.install("1.0")
    # 0.25 made none.
    machine.settings.secrets.rmdir()
    machine.upgrade("1.1")
    assert machine.settings.secrets.stat().st_mode & 0o777 == 0o700


def test_nothing_is_installed_over_processes_that_run(machine: Machine) -> None:
    first = machine.install("1.0")
    machine.told.clear()
    with pytest.raises(florinctl.ProblemError, match="Use florinctl upgrade"):
        machine.install("1.1")
    assert (machine.told, machine.releases.current.resolve()) == ([], first)
    answers = iter([False, False])
    machine.ready = lambda _port: next(answers, True)
    assert machine.install("1.2") == machine.releases.current.resolve()


def test_what_a_restore_needs_is_installed_without_a_process(machine: Machine) -> None:
    release = florinctl.install(machine.settings, machine.releases, machine.source("1.0"), stopped=True)
    assert machine.told == [f"{release.name}: collectstatic"]
    assert machine.services() == ["daemon-reload"]
    settings = machine.settings.with_home(machine.releases.current)
    started = f"start {' '.join(florinctl.UNITS)}"
    enabled = " ".join(("enable --now florin.target", *florinctl.UNITS, *florinctl.TIMERS))
    for told in ([started, enabled], [started]):
        assert florinctl.do_start(settings, None) == 0
        assert machine.services() == told


def test_a_wrong_pause_for_the_proxy_is_found_before_a_process_leaves_it(machine: Machine) -> None:
    machine.install("1.0")
    drain = machine.run / "florin-web-1" / "drain"
    drain.parent.mkdir(parents=True)
    settings = florinctl.set_env(machine.settings, {"PROXY_SECONDS": "2.5"})
    with pytest.raises(florinctl.ProblemError, match="whole number"):
        florinctl.roll(settings)
    assert not drain.exists()


def test_a_migration_that_fails_leaves_what_runs_alone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    first = machine.install("1.0")
    machine.services()

    def refuse(*_: Any) -> str:
        raise florinctl.ProblemError("migrate failed")

    monkeypatch.setattr(florinctl, "manage", refuse)
    with pytest.raises(florinctl.ProblemError, match="migrate failed"):
        machine.upgrade("1.1")
    assert machine.releases.current.resolve() == first
    assert machine.services() == []


def test_rollback_goes_back_and_forth(machine: Machine) -> None:
    first, second = machine.install("1.0"), machine.upgrade("1.1")
    assert florinctl.rollback(machine.settings, machine.releases) == first
    assert machine.releases.current.resolve() == first
    assert florinctl.rollback(machine.settings, machine.releases) == second


def test_only_the_way_back_asks_whether_the_database_has_all(machine: Machine) -> None:
    first, second = machine.install("1.9"), machine.upgrade("1.10")
    machine.told.clear()
    florinctl.rollback(machine.settings, machine.releases)
    assert machine.told == [f"{second.name}: schema fits 1.9", f"{first.name}: collectstatic"]
    florinctl.rollback(machine.settings, machine.releases)
    assert machine.told[2:] == [f"{second.name}: collectstatic"]


def test_a_database_that_lacks_what_the_release_before_uses_keeps_the_new_one(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.install("1.0")
    second = machine.upgrade("1.1")
    machine.services()

    def refuse(*_: Any) -> str:
        raise florinctl.ProblemError("1.0 uses what these removed")

    monkeypatch.setattr(florinctl, "manage", refuse)
    with pytest.raises(florinctl.ProblemError, match="uses what these removed"):
        florinctl.rollback(machine.settings, machine.releases)
    assert machine.releases.current.resolve() == second
    assert machine.services() == []


def test_a_release_whose_last_migrations_fail_goes_on(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.install("1.0")

    def manage(settings: Any, verb: str, *_: str) -> str:
        if verb == "migrate":
            raise florinctl.ProblemError("migrate failed")
        return ""

    monkeypatch.setattr(florinctl, "manage", manage)
    with pytest.raises(florinctl.ProblemError, match=r"runs\. Migrate again"):
        machine.upgrade("1.1")
    assert machine.releases.current.resolve().name.startswith("1.1-")


def test_there_is_nothing_to_return_to_at_first(machine: Machine) -> None:
    machine.install("1.0")
    with pytest.raises(florinctl.ProblemError, match="no release before"):
        florinctl.rollback(machine.settings, machine.releases)


def test_an_upgrade_of_nothing_is_refused(machine: Machine) -> None:
    with pytest.raises(florinctl.ProblemError, match="Use florinctl install"):
        machine.upgrade("1.0")


def test_the_first_run_writes_secrets_and_says_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "etc" / "florin.env"
    told = call("--env", file, "install", tmp_path)
    assert told.returncode == 1
    assert "Fill in BASE_URL, ALLOWED_HOSTS" in told.stderr
    assert file.stat().st_mode & 0o077 == 0
    env = florinctl.read_env(file)
    assert len(env["SECRET_KEY"]) >= 50
    assert len(env["ENCRYPTION_KEYS"]) == 44
    before = file.read_text()
    call("--env", file, "install", tmp_path)
    assert file.read_text() == before


def test_what_is_no_source_tree_is_refused(machine: Machine) -> None:
    with pytest.raises(florinctl.ProblemError, match="no source tree"):
        florinctl.install(machine.settings, machine.releases, machine.folder)


def test_every_package_of_the_product_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    apps = set(project["tool"]["importlinter"]["root_packages"]) - {"demo"}
    assert apps <= set(florinctl.SOURCES)
    built = (ROOT / "deploy" / "Containerfile").read_text()
    assert [app for app in sorted(apps) if f"COPY {app} " not in built] == []
    assert all((ROOT / name).exists() for name in florinctl.SOURCES)


def test_every_page_of_the_documentation_is_copied() -> None:
    built = (ROOT / "deploy" / "Containerfile").read_text()
    for name in (name for names in SECTIONS.values() for name in names):
        folder, _, _ = name.rpartition("/")
        assert {name, folder, folder.partition("/")[0]} & set(florinctl.SOURCES), name
        copied = f"COPY {folder.partition('/')[0]}" if folder else " *.md "
        assert copied in built, name


def test_each_release_of_the_changelog_names_its_commit() -> None:
    lines = (ROOT / "deploy" / "releases.txt").read_text().splitlines()
    named = [line.split() for line in lines if not line.startswith("#")]
    dated = re.findall(r"^## (\S+) \(\d", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert [version for version, _ in named] == dated[::-1]
    assert all(re.fullmatch(r"[0-9a-f]{40}", commit) for _, commit in named)


def test_this_release_has_one_name_wherever_it_is_named() -> None:
    version = settings.SERVICE_VERSION
    dated = re.findall(r"^## (\S+) \(\d", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    # A rollback compares what pyproject.toml says; a migration that contracts, the setting.
    assert (florinctl.release_of(ROOT), dated[0]) == (version, version)
    for name, place in {
        "deploy/Containerfile": f"--tag florin:{version} ",
        "deploy/kubernetes/example/kustomization.yaml": f"newTag: {version}\n",
        "docs/guide/webhooks.md": f'"api_version": "{version}"',
    }.items():
        assert place in (ROOT / name).read_text(), name
