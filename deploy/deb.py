"""Builds florin_VERSION_all.deb from a source tree: the source, florinctl and the units. The same tree gives the same bytes.

The package brings no packages of Python: `florinctl install` takes them from the lock, with hashes, into a venv of the release.
"""

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
SOURCE_PLACE: Final = "usr/share/florin"
CONTROL: Final = """Package: florin
Version: {version}
Architecture: all
Maintainer: Florin <security@florin.invalid>
Section: net
Priority: optional
Depends: python3 (>= 3.11), python3-venv, age, openssh-client
Recommends: postgresql-18, valkey-server | redis-server, caddy
Description: self-hosted gateway for stablecoin payments
 florinctl installs a release with its locked packages, checks the settings,
 takes and restores encrypted backups, and upgrades without downtime. The
 services run under hardened systemd units.
"""
AFTER_UNPACKING: Final = """#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
if [ "$1" = configure ]; then
    if [ -e /opt/florin/current ]; then
        echo "Florin {version} is unpacked. Run it: florinctl upgrade"
    else
        echo "Florin {version} is unpacked. Install it: florinctl install"
    fi
fi
"""
BEFORE_REMOVAL: Final = """#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now {units} || true
fi
"""
# The keys in /etc/florin and the backups outlive the package: without them money may be lost.
AFTER_REMOVAL: Final = """#!/bin/sh
set -e
if [ "$1" = purge ]; then
    rm -rf /opt/florin
    echo "/etc/florin, /var/lib/florin and /var/backups/florin are kept: they hold keys and data. Remove them yourself."
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
"""


def build(source: Path, target: Path) -> Path:
    """Build the package of a source tree into a folder; return the file. Raises CalledProcessError."""
    florinctl = runpy.run_path(str(source / "deploy" / "florinctl"))
    version = florinctl["release_of"](source)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "florin"
        florinctl["copy_source"](source, root / SOURCE_PLACE)
        _link_and_units(root)
        units = sorted(one.name for one in (root / "usr/lib/systemd/system").iterdir())
        running = " ".join([*florinctl["UNITS"], *(u for u in units if u.endswith((".timer", ".target")))])
        control = root / "DEBIAN"
        control.mkdir()
        (control / "control").write_text(CONTROL.format(version=version))
        for name, script in (
            ("postinst", AFTER_UNPACKING.format(version=version)),
            ("prerm", BEFORE_REMOVAL.format(units=running)),
            ("postrm", AFTER_REMOVAL),
        ):
            (control / name).write_text(script)
        subprocess.run(["chmod", "-R", "u=rwX,go=rX", root], check=True)  # noqa: S603, S607
        for program in (*control.glob("p*"), root / SOURCE_PLACE / "deploy/florinctl"):
            program.chmod(0o755)
        (root / "etc/florin/secrets").chmod(0o700)
        target.mkdir(parents=True, exist_ok=True)
        package = target / f"florin_{version}_all.deb"
        argv = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(package)]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=_dated())  # noqa: S603
    return package


def _link_and_units(root: Path) -> None:
    programs, units = root / "usr/sbin", root / "usr/lib/systemd/system"
    programs.mkdir(parents=True)
    (programs / "florinctl").symlink_to(f"/{SOURCE_PLACE}/deploy/florinctl")
    shutil.copytree(root / SOURCE_PLACE / "deploy/systemd", units)
    (root / "etc/florin/secrets").mkdir(parents=True)


def _dated() -> dict[str, str]:
    """Return the environment, with one date for all files."""
    return {"SOURCE_DATE_EPOCH": "0", **os.environ}


if __name__ == "__main__":
    made = build(HERE.parent, Path(sys.argv[1]))
    sys.stdout.write(f"{made}\n")
