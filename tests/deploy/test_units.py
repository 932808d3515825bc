"""The units and the compose file start what the guide says, hardened."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gateway.processes.stack import stream_arguments, web_arguments
from tests.deploy.florinctl import PROGRAM, call, florinctl
from tests.deploy.test_foreign_folders import Machine, open_machine
from tests.tree import ROOT

UNITS = ROOT / "deploy" / "systemd"
SERVICES = ("web@", "streams", "worker", "beat")
HARDENING = (
    "User=florin",
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    "ProtectHome=yes",
    "PrivateTmp=yes",
    "CapabilityBoundingSet=",
    "SystemCallFilter=~@privileged @resources",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
)
RIGHTS = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_SETGID", "CAP_SETUID")


def unit(name: str) -> list[str]:
    return (UNITS / name).read_text().splitlines()


def started(name: str) -> str:
    """What a service starts."""
    [line] = [line for line in unit(name) if line.startswith("ExecStart=")]
    return line.removeprefix("ExecStart=")


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_is_hardened_and_starts_again(service: str) -> None:
    lines = unit(f"florin-{service}.service")
    assert [line for line in HARDENING if line not in lines] == []
    assert "Restart=always" in lines
    assert "EnvironmentFile=/etc/florin/florin.env" in lines
    assert "LoadCredential=florin:/etc/florin/secrets" in lines


@pytest.mark.parametrize("job", ["backup", "wal", "drill"])
def test_each_job_is_hardened_as_the_services_are(job: str) -> None:
    lines = unit(f"florin-{job}.service")
    kinds = "Protect|Private|Restrict|Lock|No|UMask|ProcSubset|SystemCallArch"
    worker = unit("florin-worker.service")
    shared = [line for line in worker if re.match(kinds, line)]
    assert len(shared) > 15
    assert [line for line in shared if line not in lines] == []
    # It becomes the database's user, and reads and gives files; nothing else of root's is left.
    assert f"CapabilityBoundingSet={' '.join(RIGHTS)}" in lines
    assert "SystemCallFilter=~@resources" in lines


def test_a_backup_a_restore_and_shipping_need_no_other_rights() -> None:
    if os.geteuid() != 0:
        return
    with open_machine() as machine:
        run_with_few_rights(machine)


def run_with_few_rights(machine: Machine) -> None:
    machine.segment(3)
    kept = ",".join(f"+{one.removeprefix('CAP_').lower()}" for one in RIGHTS)
    bounds = (f"--bounding-set=-all,{kept}", "--no-new-privs")
    for words in (
        ("backup", "--unencrypted"),
        ("backup", "--wal-only", "--unencrypted"),
        ("restore", "--to", machine.home / "theirs" / "restored"),
    ):
        argv = [sys.executable, "-I", PROGRAM, "--env", machine.settings.env_file]
        done = subprocess.run(["setpriv", *bounds, *argv, *words], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_jobs_write_where_the_environment_file_says_and_nowhere_else(tmp_path: Path) -> None:
    file = tmp_path / "florin-backup.service.d" / "florin.conf"
    env = {"BACKUP_DIR": str(tmp_path / "100% ours"), "BACKUP_WAL_SPOOL": "/var/lib/florin-wal"}
    florinctl.put_addition(florinctl.Settings(tmp_path / "env", env), file)
    place = str(tmp_path / "100%% ours")
    assert file.read_text() == f'[Service]\nReadWritePaths="-{place}"\n'
    assert (tmp_path / "100% ours").is_dir()
    contained = florinctl.Settings(tmp_path / "env", {}, "containers")
    florinctl.put_addition(contained, file)
    assert "RestrictNamespaces=no" in file.read_text()
    florinctl.put_addition(florinctl.Settings(tmp_path / "env", {}), file)
    assert not file.exists()


def test_the_target_and_florinctl_know_the_same_services() -> None:
    [wants] = [line for line in unit("florin.target") if line.startswith("Wants=")]
    named = wants.removeprefix("Wants=").split()
    assert [name.removesuffix(".service") for name in named] == list(florinctl.UNITS)


def test_the_ports_of_web_are_those_that_florinctl_asks() -> None:
    assert "--port 800%i" in started("florin-web@.service")
    settings = florinctl.Settings(Path("none"), {})
    assert florinctl.ports(settings) == [8001, 8002]


def test_florinctl_drains_a_web_process_where_its_unit_looks() -> None:
    lines = unit("florin-web@.service")
    assert "RuntimeDirectory=florin-web-%i" in lines
    assert "Environment=DRAIN_FILE=%t/florin-web-%i/drain" in lines


@pytest.mark.parametrize("job", ["backup", "wal", "drill"])
def test_each_timer_has_a_job_that_florinctl_understands(job: str) -> None:
    program, *arguments = started(f"florin-{job}.service").split()
    assert program == "/opt/florin/current/deploy/florinctl"
    told = call("--env", "/nonexistent/florin.env", *arguments)
    assert "Cannot read /nonexistent/florin.env" in told.stderr
    assert any(line.startswith("OnCalendar=") for line in unit(f"florin-{job}.timer"))


def test_wal_is_shipped_on_the_minute_and_not_up_to_a_minute_later() -> None:
    assert {"OnCalendar=minutely", "AccuracySec=1s"} <= set(unit("florin-wal.timer"))


@pytest.mark.parametrize("service", ["web@", "streams"])
def test_a_server_listens_at_loopback_unless_the_environment_file_says_otherwise(service: str) -> None:
    # systemd takes a name from EnvironmentFile rather than from Environment.
    assert "Environment=WEB_ADDRESS=127.0.0.1" in unit(f"florin-{service}.service")
    assert "--host ${WEB_ADDRESS} " in started(f"florin-{service}.service")


@pytest.mark.parametrize(
    ("application", "files", "own"),
    [
        (
            "gateway.rsgi:application",
            ["deploy/Containerfile", "deploy/systemd/florin-web@.service", "docs/guide/deploying.md"],
            web_arguments(1),
        ),
        (
            "gateway.asgi:application",
            [
                "deploy/compose.yaml",
                "deploy/kubernetes/base/streams.yaml",
                "deploy/systemd/florin-streams.service",
                "docs/guide/deploying.md",
            ],
            stream_arguments(1),
        ),
    ],
)
def test_headers_have_a_deadline_and_one_version_of_http_whatever_starts_a_server(
    application: str, files: list[str], own: list[str]
) -> None:
    for text in (*((ROOT / file).read_text() for file in files), " ".join(own)):
        # Continued lines of a list, each with its marks.
        plain = re.sub(r"[\"\[\],]", "", re.sub(r",\s*\\?\n\s*", " ", text))
        [command] = [line for line in plain.splitlines() if application in line and "--interface" in line]
        for option in ("--http 1 ", "--http1-header-read-timeout 10000 ", "--http1-buffer-size 32768 "):
            assert option in command


def test_postgresql_removes_no_segment_whose_copy_is_not_on_disk() -> None:
    copied = re.compile(r'cp %p (\S+) && sync \1 && (?:"\s+f")?mv \1 \S+ && sync ')
    for file in (ROOT / "deploy" / "compose.yaml", ROOT / "docs" / "guide" / "restoring.md", PROGRAM):
        text = file.read_text()
        assert len(copied.findall(text)) == text.count("cp %p") == 1, file


def test_compose_runs_the_same_processes_read_only() -> None:
    text = (ROOT / "deploy" / "compose.yaml").read_text()
    services = re.findall(r"^  ([\w-]+):$", text.split("\nservices:\n")[1], re.MULTILINE)
    ours = ["proxy", "web1", "web2", "streams", "worker", "beat"]
    assert services[:8] == [*ours, "postgres", "valkey"]
    assert {f"florin-{one}" for one in ours[1:]} == {name.replace("@", "") for name in florinctl.UNITS}
    shared = text.split("x-no-web")[0]
    for line in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true"):
        assert line in shared
    assert text.count("<<: *florin") == 5
    assert "summarize_wal=on" in text


def test_every_container_drops_all_rights_and_has_an_exact_version() -> None:
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    for name, one in services.items():
        assert one["cap_drop"] == ["ALL"], name
        assert one["read_only"] is True
        assert "no-new-privileges:true" in one["security_opt"]
        image = one["image"]
        assert image == "${FLORIN_IMAGE:?}" or re.search(r":\d+\.\d+[\d.]*\}$", image)
    assert services["postgres"]["image"].endswith(f"{florinctl.POSTGRES_IMAGE}}}")
    assert services["postgres"]["user"] == "${POSTGRES_IDS:?}"


def test_the_proxy_shows_nobody_the_metrics_and_leads_streams_apart() -> None:
    text = (ROOT / "deploy" / "Caddyfile").read_text()
    assert "respond /metrics 404" in text
    assert "reverse_proxy /c/*/stream streams:8000" in text


def test_no_secret_is_in_a_containers_environment_or_command() -> None:
    text = (ROOT / "deploy" / "compose.yaml").read_text()
    variables = set(re.findall(r"\$\{(\w+)", text))
    assert not [name for name in variables if re.search("PASSWORD|_KEY|URL|TOKEN", name)]
    assert "requirepass" not in text
    assert "POSTGRES_PASSWORD_FILE: /run/secrets/" in text
