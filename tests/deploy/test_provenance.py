"""The image says what it was made of, and so does the statement beside it."""

import hashlib
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deploy.provenance import CONTAINERFILE, LOCK, Source, source_of, statement
from tests.tree import ROOT

STARTED = datetime(2026, 11, 25, 6, 0, tzinfo=UTC)


def tree(folder: Path) -> Path:
    """A small tree under git."""
    for name in (CONTAINERFILE, LOCK):
        (folder / name).parent.mkdir()
        (folder / name).write_text(name)
    (folder / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    who = ("-c", "user.name=n", "-c", "user.email=e@invalid")
    for argv in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "First"]):
        subprocess.run(["git", "-C", folder, *argv], check=True)
    return folder


def test_a_tree_is_its_commit_its_version_and_its_hashes(tmp_path: Path) -> None:
    found = source_of(tree(tmp_path))
    assert (found.version, found.is_changed) == ("1.2.3", False)
    assert len(found.commit) == 40
    assert found.hashes[LOCK] == hashlib.sha256(LOCK.encode()).hexdigest()
    assert found.labels["org.opencontainers.image.revision"] == found.commit
    assert found.labels["florin.lock.sha256"] == found.hashes[LOCK]


def test_what_is_not_committed_is_told(tmp_path: Path) -> None:
    (tree(tmp_path) / LOCK).write_text("other")
    found = source_of(tmp_path)
    assert found.is_changed
    assert found.labels["org.opencontainers.image.revision"].endswith("-changed")


def test_the_statement_has_the_form_that_slsa_wants() -> None:
    source = Source("1.2.3", "c" * 40, False, {CONTAINERFILE: "a" * 64, LOCK: "b" * 64})
    told = statement(
        source, image="florin:1.2.3", digest="d" * 64, started=STARTED, finished=STARTED + timedelta(minutes=2)
    )
    assert told["_type"] == "https://in-toto.io/Statement/v1"
    assert told["predicateType"] == "https://slsa.dev/provenance/v1"
    assert told["subject"] == [{"name": "florin:1.2.3", "digest": {"sha256": "d" * 64}}]
    definition = told["predicate"]["buildDefinition"]
    assert {"gitCommit": "c" * 40} in [one["digest"] for one in definition["resolvedDependencies"]]
    assert {"sha256": "b" * 64} in [one["digest"] for one in definition["resolvedDependencies"]]
    metadata = told["predicate"]["runDetails"]["metadata"]
    assert metadata["startedOn"] == "2026-11-25T06:00:00+00:00"
    assert metadata["finishedOn"] == "2026-11-25T06:02:00+00:00"


def test_this_tree_has_what_the_build_hashes() -> None:
    assert source_of(ROOT).version in (ROOT / "CHANGELOG.md").read_text()
