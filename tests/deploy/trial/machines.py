"""Makes bare Debian machines as containers, and the images that an installation would else get from a registry."""

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.provenance import ROOT, build

HERE: Final = Path(__file__).resolve().parent
HOME: Final = "/srv"
"""Where a machine's operator works."""

SCRIPTS: Final = HERE / "machine"
CERTIFICATES: Final = "/etc/ssl/certs/ca-certificates.crt"
SMALL: Final = (
    '--aptopt=Acquire::Languages "none"',
    # Testing is not published as often as its release file wants.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale")),
)
BASE: Final = "localhost/florin-try-base"
"""What Florin's image is built on: Debian with Python and tini."""
ENGINES: Final = "localhost/florin-try-engines"
"""PostgreSQL 18, Valkey and Caddy, in place of their official images."""
BARE: Final = "localhost/florin-try-bare"
BARE_SYSTEMD: Final = "localhost/florin-try-systemd"
SUITES: Final = {
    BASE: ("trixie", "ca-certificates,python3,python3-minimal,tini"),
    ENGINES: ("forky", "ca-certificates,postgresql-18,valkey-server,caddy"),
    BARE: ("bookworm", "ca-certificates"),
    BARE_SYSTEMD: ("bookworm", "ca-certificates,systemd,systemd-sysv,dbus"),
}
ENGINES_FILE: Final = """
FROM {base}
COPY docker-entrypoint.sh /usr/local/bin/
ENV PATH=/usr/lib/postgresql/18/bin:/usr/local/bin:/usr/bin:/bin
ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile"]
"""


def run(*argv: str | Path, **options: object) -> str:
    """Run a program and return its output. Raises CalledProcessError, with what it said on standard error."""
    done = subprocess.run(  # type: ignore[call-overload]
        [str(part) for part in argv], check=True, text=True, stdout=-1, **options
    )
    return str(done.stdout)


def has_image(name: str) -> bool:
    """Whether podman has an image."""
    asked = subprocess.run(["podman", "image", "exists", name], check=False)
    return asked.returncode == 0


def make_images(image: str) -> None:
    """Make what is missing of the images, and build Florin's anew."""
    for name, (suite, packages) in SUITES.items():
        if not has_image(name):
            _bootstrap(name, suite, packages)
    mount = f"--volume={CERTIFICATES}:{CERTIFICATES}:ro"
    options = ("--isolation=chroot", "--network=host", mount, f"--build-arg=BASE={BASE}")
    build(image, options, ROOT / "var" / "image")


def _bootstrap(name: str, suite: str, packages: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "root.tar"
        include = f"--include={packages}"
        run("mmdebstrap", "--quiet", "--variant=minbase", *SMALL, include, suite, archive)
        bare = f"{name}-root" if name == ENGINES else name
        run("podman", "import", "--quiet", archive, bare)
        if name == ENGINES:
            file = Path(folder) / "Containerfile"
            file.write_text(ENGINES_FILE.format(base=bare))
            run("podman", "build", "--quiet", "--file", file, "--tag", name, SCRIPTS)


def megabytes(image: str) -> int:
    """Return the size of an image."""
    told = run("podman", "image", "inspect", "--format", "{{.Size}}", image)
    return int(told) // 1_000_000


@dataclass(frozen=True)
class Machine:
    """A container that stands for a bare machine."""

    name: str

    def sh(self, script: str, *, check: bool = True) -> str:
        """Run a script as root, and return all that it says. Raises CalledProcessError."""
        argv = ["podman", "exec", "--workdir", HOME, "--env", f"PIP_CERT={CERTIFICATES}"]
        done = subprocess.run(
            [*argv, self.name, "sh", "-euc", script],
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if check and done.returncode:
            raise subprocess.CalledProcessError(done.returncode, script, done.stdout)
        return done.stdout

    def copy(self, source: Path, target: str) -> None:
        """Copy a file or folder to the machine."""
        run("podman", "cp", source, f"{self.name}:{target}")


@contextmanager
def machine(image: str, options: Sequence[str], command: Sequence[str]) -> Iterator[Machine]:
    """Start a machine, and remove it with all it wrote in the end."""
    name = f"florin-try-{os.getpid()}"
    mount = ("--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro")
    run("podman", "run", "--detach", "--name", name, *mount, *options, image, *command)
    try:
        yield Machine(name)
    finally:
        run("podman", "rm", "--force", "--time", "5", "--volumes", name)


NEEDED: Final = {
    "podman": "podman",
    "buildah": "buildah",
    "mmdebstrap": "mmdebstrap",
    "git": "git",
    "netavark": "netavark",
    "aardvark-dns": "aardvark-dns",
    "iptables": "iptables",
    "runc": "runc",
    "catatonit": "catatonit",
}
"""Programs, and the packages of Debian that have them; podman only recommends some, and fails late without them."""
_PLACES: Final = ("/usr/sbin", "/sbin", "/usr/lib/podman", "/usr/libexec/podman")
_INSTEAD: Final = {"runc": "crun", "iptables": "nft"}
_LIMITS: Final = Path("/etc/containers/containers.conf.d")
_GREATEST_ID: Final = Path("/proc/sys/kernel/pid_max")
_CAP_SYS_RESOURCE: Final = 24
_NO_LIMITS: Final = """Limits cannot be raised here, as in a container without CAP_SYS_RESOURCE, and podman would raise them.
Write this into {place}/limits.conf, then run this again:
[containers]
default_ulimits = ["nofile={nofile}", "nproc={nproc}"]
"""


def missing_programs(path: str | None = None) -> list[str]:
    """Return the packages that must be installed before a trial."""
    places = path or os.pathsep.join((os.environ.get("PATH", ""), *_PLACES))

    def is_here(name: str) -> bool:
        return any(shutil.which(one, path=places) for one in (name, _INSTEAD.get(name)) if one is not None)

    return [package for name, package in NEEDED.items() if not is_here(name)]


def limits_problem(
    status: Path = Path("/proc/self/status"), configured: Path = _LIMITS, greatest_id: Path = _GREATEST_ID
) -> str:
    """Return how to go on where podman's own limits cannot be set; nothing where they can, or where others are set."""
    rights = next(line for line in status.read_text().splitlines() if line.startswith("CapEff:"))
    if int(rights.split()[1], 16) >> _CAP_SYS_RESOURCE & 1 or any(
        "default_ulimits" in file.read_text() for file in configured.glob("*.conf")
    ):
        return ""
    # buildah lowers its own limit of processes to the greatest id, and could not raise it again.
    most = int(greatest_id.read_text())
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes = [one if 0 <= one < most else most for one in resource.getrlimit(resource.RLIMIT_NPROC)]
    # -1 is without a limit.
    nofile, nproc = (":".join(map(str, pair)) for pair in (files, processes))
    return _NO_LIMITS.format(place=configured, nofile=nofile, nproc=nproc)
