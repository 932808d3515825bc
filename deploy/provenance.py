"""Builds the image with labels that say what it was made of, and writes a statement of its provenance (in-toto, SLSA 1.0).

The statement is not signed: cosign or minisign sign the file, with a key that this program should not have.
"""

import hashlib
import json
import subprocess
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
CONTAINERFILE: Final = "deploy/Containerfile"
LOCK: Final = "requirements/server.txt"
BUILD_TYPE: Final = "https://github.com/containers/buildah"


@dataclass(frozen=True, slots=True)
class Source:
    """What an image is built from: a commit, whether files differ from it, and the hashes of the lock and Containerfile."""

    version: str
    commit: str
    is_changed: bool
    hashes: dict[str, str]

    @property
    def labels(self) -> dict[str, str]:
        """What the image says of itself."""
        revision = f"{self.commit}-changed" if self.is_changed else self.commit
        return {
            "org.opencontainers.image.title": "Florin",
            "org.opencontainers.image.version": self.version,
            "org.opencontainers.image.revision": revision,
            "org.opencontainers.image.licenses": "Apache-2.0",
            "florin.lock.sha256": self.hashes[LOCK],
        }


def source_of(root: Path) -> Source:
    """Return what a checked-out tree is. Raises CalledProcessError."""
    hashes = {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in (CONTAINERFILE, LOCK)}
    text = (root / "pyproject.toml").read_text()
    version = text.partition('\nversion = "')[2].partition('"')[0]
    commit = _run("git", "-C", str(root), "rev-parse", "HEAD")
    changed = _run("git", "-C", str(root), "status", "--porcelain")
    return Source(version, commit, bool(changed), hashes)


def statement(source: Source, *, image: str, digest: str, started: datetime, finished: datetime) -> dict[str, Any]:
    """Return what an image was made of, as an in-toto statement with SLSA's predicate."""
    dependencies = [
        {"uri": "git+florin", "digest": {"gitCommit": source.commit}},
        *({"uri": f"file:{name}", "digest": {"sha256": value}} for name, value in source.hashes.items()),
    ]
    told = f"{digest} {started.isoformat()}"
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": image, "digest": {"sha256": digest}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "containerfile": CONTAINERFILE,
                    "version": source.version,
                    "hasLocalChanges": source.is_changed,
                },
                "resolvedDependencies": dependencies,
            },
            "runDetails": {
                "builder": {"id": "script/image"},
                "metadata": {
                    "invocationId": str(uuid.uuid5(uuid.NAMESPACE_URL, told)),
                    "startedOn": started.isoformat(timespec="seconds"),
                    "finishedOn": finished.isoformat(timespec="seconds"),
                },
            },
        },
    }


def build(image: str, options: Sequence[str], place: Path) -> Path:
    """Build the image of this tree, and write its provenance into a folder; return the file. Raises CalledProcessError."""
    source, started = source_of(ROOT), datetime.now(UTC)
    labels = [f"--label={name}={value}" for name, value in source.labels.items()]
    # The same source makes the same image.
    same = ("--format", "docker", "--timestamp", "0")
    file = ("--file", str(ROOT / CONTAINERFILE), "--tag", image)
    argv = ["buildah", "bud", *same, *labels, *options, *file, str(ROOT)]
    subprocess.run(argv, check=True)  # noqa: S603 - the operator's own options
    digest = _run("buildah", "inspect", "--type", "image", "--format", "{{.FromImageID}}", image)
    told = statement(source, image=image, digest=digest, started=started, finished=datetime.now(UTC))
    place.mkdir(parents=True, exist_ok=True)
    written = place / "provenance.json"
    written.write_text(json.dumps(told, indent=1) + "\n")
    return written


def _run(*argv: str) -> str:
    done = subprocess.run(argv, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip()


if __name__ == "__main__":
    sys.stdout.write(f"{build(sys.argv[1], sys.argv[2:], ROOT / 'var' / 'image')}\n")
