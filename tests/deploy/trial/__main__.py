"""Tries both ways to install, or those that are named, and writes deploy/transcripts/WAY.md."""

import os
import platform
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from deploy.provenance import ROOT
from tests.deploy.trial.machines import limits_problem, make_images, megabytes, missing_programs, run
from tests.deploy.trial.story import WAYS, Way, summary, tell


def write(way: Way, image: str, version: str, folder: Path) -> None:
    """Try one way, and write its transcript."""
    # What is checked out when the trial ends may be another one.
    commit = run("git", "rev-parse", "--short=12", "HEAD", cwd=ROOT).strip()
    kept = tell(way, image, version)
    head = [
        f"# Florin {version} on a bare Debian machine, by {way.name}",
        "",
        f"Written by `script/try-install {way.name}` on {datetime.now(UTC):%Y-%m-%d}, from commit {commit}.",
        f"Linux {platform.release()}, {platform.machine()}. The machine is a container without anything of Florin.",
        "",
        f"Image of Florin: {megabytes(image)} MB.",
        f"Times depend on the host: {os.cpu_count()} cores, load {os.getloadavg()[2]:.0f}.",
        "",
        *summary(kept),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join([*head, *kept.lines]).rstrip() + "\n"
    (folder / f"{way.name}.md").write_text(text)


def main(chosen: list[str]) -> int:
    """Try the ways; return 1 where something is missing or failed."""
    if missing := missing_programs():
        sys.stderr.write(f"Nothing was tried. Install first: apt install {' '.join(missing)}\n")
        return 1
    if problem := limits_problem():
        sys.stderr.write(problem)
        return 1
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    version = project["project"]["version"]
    image = f"localhost/florin:{version}"
    if "--no-build" in chosen:
        chosen = [one for one in chosen if one != "--no-build"]
    else:
        make_images(image)
    for way in WAYS:
        if way.name in (chosen or [one.name for one in WAYS]):
            try:
                write(way, image, version, ROOT / "deploy" / "transcripts")
            except subprocess.CalledProcessError as error:
                sys.stderr.write(f"{error.cmd}\n{error.output}\n")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
