"""The contracts' artifacts are what their sources compile to."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.wallets.vyper import needs_vyper
from wallets.forwarders.contracts.compile import CONTRACT_FOLDERS, ROOT, CompileError, compile_contract, write_artifacts
from wallets.forwarders.factory import CONTRACTS


@needs_vyper
def test_compiling_the_sources_again_gives_the_committed_artifacts_byte_for_byte(tmp_path: Path) -> None:
    script = ROOT / "script/compile-contracts"
    subprocess.run([script, "--output", tmp_path], check=True, capture_output=True)
    for folder in CONTRACT_FOLDERS:
        committed = _bytes_by_name(ROOT / folder)
        assert len(committed) == len(list((ROOT / folder).glob("*.vy"))) > 0
        assert _bytes_by_name(tmp_path / folder) == committed


@needs_vyper
def test_a_source_that_contradicts_the_pinned_settings_is_refused(tmp_path: Path) -> None:
    source = (CONTRACTS / "Forwarder.vy").read_text()
    other = tmp_path / "Forwarder.vy"
    other.write_text(source.replace("evm-version paris", "evm-version cancun"))
    with pytest.raises(CompileError, match="evm-version"):
        compile_contract(other)


@needs_vyper
def test_the_bytecode_does_not_depend_on_where_it_is_compiled_or_on_comments(tmp_path: Path) -> None:
    source = (CONTRACTS / "Forwarder.vy").read_text()
    copied = tmp_path / "Forwarder.vy"
    copied.write_text(source + "\n# A remark.\n")
    [artifact] = write_artifacts(tmp_path, output=tmp_path)
    assert json.loads(artifact.read_text())["bytecode"] == _artifact("Forwarder")["bytecode"]


def _artifact(contract: str) -> dict[str, str]:
    artifact: dict[str, str] = json.loads(Path(CONTRACTS / f"{contract}.json").read_text())
    return artifact


def _bytes_by_name(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}
