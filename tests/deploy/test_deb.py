"""The Debian package brings florinctl, the units and the source, and says what it keeps."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.deb import build
from tests.deploy.florinctl import florinctl
from tests.tree import ROOT

UNITS = "./usr/lib/systemd/system"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The package of this tree; none where Debian's tools are missing, which is said."""
    if shutil.which("dpkg-deb") is None:
        sys.stderr.write("dpkg-deb is not installed: the package is not tried\n")
        return None
    return build(ROOT, tmp_path_factory.mktemp("deb"))


def told(*argv: str | Path) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def test_it_has_florinctl_the_units_and_the_source(package: Path | None) -> None:
    if package is None:
        return
    lines = told("dpkg-deb", "--contents", package).splitlines()
    modes = {line.split(maxsplit=5)[5].split(" -> ")[0]: line[:10] for line in lines}
    assert {line.split()[1] for line in lines} == {"root/root"}
    for unit in (ROOT / "deploy" / "systemd").iterdir():
        assert modes[f"{UNITS}/{unit.name}"] == "-rw-r--r--"
    assert modes["./usr/share/florin/deploy/florinctl"] == "-rwxr-xr-x"
    assert modes["./etc/florin/secrets/"] == "drwx------"
    [link] = [line for line in lines if "./usr/sbin/florinctl" in line]
    assert link.endswith("-> /usr/share/florin/deploy/florinctl")
    source = {name.removeprefix("./usr/share/florin/") for name in modes}
    assert {"manage.py", "requirements/server.txt", "gateway/settings.py"} <= source
    assert not [name for name in source if "__pycache__" in name or "tests/" in name]


def test_its_version_is_that_of_the_source(package: Path | None) -> None:
    if package is not None:
        version = florinctl.release_of(ROOT)
        assert told("dpkg-deb", "--field", package, "Version").strip() == version


def test_the_same_source_gives_the_same_bytes(package: Path | None, tmp_path: Path) -> None:
    if package is not None:
        assert build(ROOT, tmp_path).read_bytes() == package.read_bytes()


def test_removal_stops_every_service_and_keeps_keys_and_data(package: Path | None, tmp_path: Path) -> None:
    if package is None:
        return
    told("dpkg-deb", "--control", package, tmp_path)
    stopped = (tmp_path / "prerm").read_text()
    assert [one for one in (*florinctl.UNITS, *florinctl.TIMERS) if one not in stopped] == []
    removed = (tmp_path / "postrm").read_text()
    deleted = [line for line in removed.splitlines() if "rm -rf" in line]
    assert deleted == ["    rm -rf /opt/florin"]
    for script in ("postinst", "prerm", "postrm"):
        told("sh", "-n", tmp_path / script)
