"""script/try-install names all that it needs before it begins, and says how to go on where podman could not start."""

from pathlib import Path

from tests.deploy.trial.machines import NEEDED, limits_problem, missing_programs
from tests.tree import ROOT


def program(folder: Path, name: str) -> None:
    file = folder / name
    file.write_text("")
    file.chmod(0o755)


def test_everything_that_podman_needs_later_is_asked_for_at_once(tmp_path: Path) -> None:
    assert missing_programs(str(tmp_path)) == list(NEEDED.values())
    for name in ("podman", "buildah", "mmdebstrap", "git", "crun"):
        program(tmp_path, name)
    left = ["netavark", "aardvark-dns", "iptables", "catatonit"]
    assert missing_programs(str(tmp_path)) == left
    head = (ROOT / "script" / "try-install").read_text()
    assert [name for name in NEEDED.values() if name not in head] == []


def test_where_limits_cannot_be_raised_it_says_what_to_configure(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Name: x\nCapEff:\t00000000a80425fb\n")
    greatest_id = tmp_path / "pid_max"
    greatest_id.write_text("99\n")
    told = limits_problem(status, tmp_path, greatest_id)
    assert f"{tmp_path}/limits.conf" in told
    # More than the greatest id is more than buildah leaves itself.
    assert '"nproc=99:99"' in told
    (tmp_path / "limits.conf").write_text("\n".join(told.splitlines()[2:]))
    assert limits_problem(status, tmp_path) == ""
    status.write_text("CapEff:\t000001ffffffffff\n")
    assert limits_problem(status, tmp_path / "none") == ""
