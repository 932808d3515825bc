"""Containers behind the verbs of florinctl, by a stand-in for podman that writes down what it is told.

script/try-install shows the same on a machine with podman; deploy/transcripts has what it showed.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.florinctl import florinctl, write_env
from tests.tree import ROOT

PODMAN = """#!/bin/sh
echo "podman $@" >> {log}
case "$*" in
    *"--entrypoint id"*) echo 70;;
    inspect*) test -e {up}/"$(eval echo \\${{$#}})" && echo running;;
    rm*) command rm -f {up}/"$2";;
esac
"""
COMPOSE = """#!/bin/sh
if [ "$1" = version ]; then echo "podman-compose version {version}"; exit; fi
echo "compose up $(echo "$*" | sed 's/.*--no-deps *//') of $FLORIN_IMAGE" >> {log}
for name in postgres valkey proxy web1 web2 streams worker beat; do touch {up}/florin-$name; done
"""


class Host:
    """A machine with a stand-in for podman and compose."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.log, self.up = folder, folder / "log", folder / "up"
        self.programs = folder / "bin"
        for place in (self.programs, self.up, folder / "units"):
            place.mkdir()
        self.program("podman", PODMAN)
        self.program("podman-compose", COMPOSE, version="1.6.0")
        monkeypatch.setenv("PATH", f"{self.programs}:/usr/bin:/bin")
        monkeypatch.setattr(florinctl, "is_ready", lambda *_: True)
        for name in ("chown", "fchown"):
            monkeypatch.setattr(florinctl.os, name, lambda *_, **__: None)
        monkeypatch.setattr(florinctl, "put_units", lambda *_: None)
        monkeypatch.setattr(florinctl, "enable_units", lambda *_: None)
        env = florinctl.new_env("containers")
        file = folder / "florin.env"
        file.write_text(env)
        values = florinctl.read_env(file) | {
            "BASE_URL": "https://pay.example",
            "ALLOWED_HOSTS": "pay.example",
            "EMAIL_HOST": "mail.example",
            "FLORIN_VAR": str(folder / "var"),
            "FLORIN_HOME": str(folder / "opt" / "current"),
            "BACKUP_WAL_SPOOL": str(folder / "wal"),
            "POSTGRES_FOLDER": str(folder / "postgres"),
        }
        self.settings = florinctl.read_settings(write_env(folder, **values), None)
        self.releases = florinctl.Releases(folder / "opt", folder / "units")

    def program(self, name: str, text: str, **values: str) -> None:
        file = self.programs / name
        file.write_text(text.format(log=self.log, up=self.up, **values))
        file.chmod(0o755)

    def told(self) -> list[str]:
        """What podman and compose were told since the last call, but for questions."""
        lines = self.log.read_text().splitlines()
        self.log.unlink()
        asked = ("podman inspect", "podman run --rm --entrypoint id", "podman exec")
        return [line for line in lines if not line.startswith(asked)]

    def install(self) -> Path:
        return Path(florinctl.install(self.settings, self.releases, ROOT, "built"))


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def test_an_installation_starts_engines_migrates_and_starts_all(host: Host) -> None:
    release = host.install()
    tag, engines, check, migrate, rest = host.told()
    image = f"localhost/florin:{release.name}"
    assert tag == f"podman tag built {image}"
    assert engines == f"compose up postgres valkey of {image}"
    assert check.endswith(f"{image} python manage.py check --deploy --fail-level ERROR")
    assert migrate.endswith(f"{image} python manage.py migrate --no-input")
    assert rest.startswith("compose up")
    assert rest.endswith(f"of {image}")
    assert not (release / ".venv").exists()


def test_web_containers_are_replaced_one_by_one(host: Host) -> None:
    host.install()
    host.told()
    host.releases.switch(host.releases.current.resolve())
    florinctl.roll(host.settings)
    replaced = [line.split(" of ")[0] for line in host.told()]
    assert replaced[:6] == [
        *("podman stop -t 30 florin-web1", "podman rm florin-web1", "compose up web1"),
        *("podman stop -t 30 florin-web2", "podman rm florin-web2", "compose up web2"),
    ]
    assert replaced[-1] == "compose up streams worker beat"


def test_secrets_are_files_and_not_in_the_environment_of_containers(host: Host) -> None:
    host.install()
    folder = florinctl.container_files(host.settings)
    shown = (folder / "florin.env").read_text()
    secret = folder / "secrets"
    for name in ("SECRET_KEY", "ENCRYPTION_KEYS", "DATABASE_URL", "REDIS_URL"):
        assert (secret / name).read_text() == host.settings.env[name]
        assert (secret / name).stat().st_mode & 0o077 == 0
        assert host.settings.env[name] not in shown
    assert "EMAIL_HOST=mail.example" in shown
    assert folder.stat().st_mode & 0o077 == 0
    log = "\n".join(host.told())
    assert not [
        name for name, value in host.settings.env.items() if name in {"SECRET_KEY", "DATABASE_URL"} and value in log
    ]


def test_a_secret_that_was_removed_is_removed_from_its_files(host: Host, tmp_path: Path) -> None:
    place = tmp_path / "given"
    place.mkdir()
    florinctl.write_settings(place, {"SECRET_KEY": "a", "GAS_KEYS": "b"})
    florinctl.write_settings(place, {"SECRET_KEY": "a"})
    assert [one.name for one in (place / "secrets").iterdir()] == ["SECRET_KEY"]


@pytest.mark.parametrize(("kind", "name"), [("encryption", "ENCRYPTION_KEYS"), ("secret-key", "SECRET_KEY_FALLBACKS")])
def test_containers_are_given_a_new_key_each_time_before_they_are_restarted(
    kind: str, name: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.install()
    given = florinctl.container_files(host.settings) / "secrets"
    seen: list[tuple[str, str]] = []

    def roll(_settings: Any) -> None:
        wanted = florinctl.read_env(host.settings.env_file)
        seen.append(((given / name).read_text(), wanted[name]))

    monkeypatch.setattr(florinctl, "roll", roll)
    florinctl.rotate(host.settings, kind)
    assert len({wanted for _, wanted in seen}) == 2
    assert [read for read, _ in seen] == [wanted for _, wanted in seen]


def test_tools_run_in_the_network_of_the_database(host: Host, tmp_path: Path) -> None:
    host.install()
    host.told()
    postgres = florinctl.find_postgres(host.settings)
    data = tmp_path / "scratch" / "data"
    url = florinctl.database_url(host.settings)
    postgres.run("pg_basebackup", "--dbname", url, "--pgdata", data)
    [line] = host.told()
    assert "--user 70:70" in line
    assert f"--volume {data.parent}:{data.parent}" in line
    assert "--network container:florin-postgres" in line
    assert re.search(r"postgresql://florin:\w+@127\.0\.0\.1:5432/florin", line)
    with postgres.logged_in(url) as (bare, passwords):
        postgres.run("pg_basebackup", "--dbname", bare, passwords=passwords)
    [line] = host.told()
    assert "postgresql://florin@127.0.0.1:5432/florin" in line
    assert f"--env PGPASSFILE={passwords} --volume {passwords}:{passwords}:ro" in line


def test_checks_of_a_restored_database_reach_its_socket_alone(host: Host) -> None:
    host.install()
    host.told()
    url = "postgresql://florin@/florin?host=/tmp/sockets&port=5432"
    florinctl.manage(host.settings.with_home(host.releases.current), "check_totals", database=url)
    [line] = host.told()
    assert "--volume /tmp/sockets:/tmp/sockets" in line
    assert "--read-only --cap-drop=ALL" in line


def test_an_old_compose_that_would_stop_everything_is_refused(host: Host) -> None:
    host.program("podman-compose", COMPOSE, version="1.0.3")
    with pytest.raises(florinctl.ProblemError, match="older than"):
        host.install()


def test_without_an_engine_the_operator_reads_what_to_install(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(host.folder))
    with pytest.raises(florinctl.ProblemError, match="apt install podman"):
        florinctl.engine(host.settings)


def test_stopping_takes_the_engines_along(host: Host, monkeypatch: Any) -> None:
    host.install()
    host.told()
    assert florinctl.do_stop(host.settings, None) == 0
    stopped = {line.split()[-1] for line in host.told() if " stop " in line}
    assert {"florin-web1", "florin-postgres", "florin-proxy"} <= stopped
    assert list(host.up.iterdir()) == []
    assert os.environ["PATH"].startswith(str(host.programs))


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy is waited for."""
    monkeypatch.setattr(florinctl, "await_proxy", lambda _settings: None)


@pytest.mark.usefixtures("no_proxy")
@pytest.mark.parametrize("state", ["exited", "restarting", "running"])
def test_a_web_container_that_cannot_start_is_replaced(state: str, host: Host) -> None:
    host.install()
    host.told()
    # No engine runs a program in a container that has ended, and one that cannot start ends at any moment.
    ended = PODMAN.replace("echo running", f"echo {state}").replace("esac", "    exec*) exit 125;;\nesac")
    host.program("podman", ended)
    florinctl.roll(host.settings)
    replaced = [line.split(" of ")[0] for line in host.told()]
    assert replaced[:3] == ["podman stop -t 30 florin-web1", "podman rm florin-web1", "compose up web1"]


@pytest.mark.usefixtures("no_proxy")
def test_containers_that_are_replaced_are_given_what_the_environment_file_says(host: Host) -> None:
    host.install()
    settings = florinctl.set_env(host.settings, {"SECRET_KEY": "n" * 60})
    # As each of upgrade, rollback and rotate does.
    florinctl.roll(settings)
    given = florinctl.container_files(settings) / "secrets" / "SECRET_KEY"
    assert given.read_text() == "n" * 60


def test_the_engines_are_given_the_passwords_that_the_urls_mean(host: Host) -> None:
    host.install()
    urls = {
        "DATABASE_URL": "postgresql://florin:p%40s@postgres:5432/florin",
        "REDIS_URL": "redis://:v%2Fk@valkey:6379/0",
    }
    settings = florinctl.set_env(host.settings, urls)
    florinctl.write_container_files(settings)
    folder = florinctl.container_files(settings)
    assert (folder / "postgres-password").read_text() == "p@s"
    assert "requirepass v/k\n" in (folder / "valkey.conf").read_text()
