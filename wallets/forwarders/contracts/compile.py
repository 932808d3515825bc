"""Compiles the Vyper contracts to the artifacts that are committed beside them. Needs Vyper, a development dependency.

The bytecode determines the factory's address, and with it every deposit address. So comments, paths and dates must not
affect it: metadata is left out, and compiler, EVM version and optimizer are pinned in each source.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
CONTRACT_FOLDERS = (Path("wallets/forwarders/contracts"), Path("localnet/src/localnet/contracts"))
OUTPUTS = ("abi", "bytecode", "bytecode_runtime")
SETTINGS = {"evm_version": "paris", "optimize": "gas", "bytecode_metadata": False}


class CompileError(Exception):
    """Vyper refused a source, or the installed Vyper is not the pinned one."""


def compile_contract(source: Path) -> dict[str, Any]:
    """Compile one Vyper file.

    Returns the artifact: `abi` (list), `bytecode` (creation code, hex), `runtime` (code without the immutable values
    that Vyper appends at deployment, hex), `compiler` and `settings`. Raises CompileError.
    """
    # The sources name the same EVM version and optimizer, for people who verify them; Vyper refuses a contradiction.
    options = ["--evm-version", "paris", "-O", "gas", "--no-bytecode-metadata"]
    answer = _vyper(["-f", ",".join(OUTPUTS), *options, str(source)])
    abi, bytecode, runtime = answer.splitlines()
    return {
        "contract": source.stem,
        "compiler": f"vyper {_vyper(['--version']).strip()}",
        "settings": SETTINGS,
        "abi": json.loads(abi),
        "bytecode": bytecode,
        "runtime": runtime,
    }


def write_artifacts(folder: Path, *, output: Path) -> list[Path]:
    """Compile every contract in `folder` into `output`/<Name>.json, and return these paths. Raises CompileError."""
    written = []
    for source in sorted(folder.glob("*.vy")):
        artifact = output / f"{source.stem}.json"
        text = json.dumps(compile_contract(source), indent=1, sort_keys=True)
        artifact.write_text(text + "\n")
        written.append(artifact)
    return written


def _vyper(arguments: list[str]) -> str:
    command = [sys.executable, "-m", "vyper", *arguments]
    result = subprocess.run(  # noqa: S603 - our own interpreter, no shell
        command, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise CompileError(result.stderr.strip())
    return result.stdout


def main() -> None:
    """Rebuild the artifacts of all contracts in place, or below another folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="write below this folder instead")
    output = parser.parse_args().output
    for folder in CONTRACT_FOLDERS:
        target = (output or ROOT) / folder
        target.mkdir(parents=True, exist_ok=True)
        for artifact in write_artifacts(ROOT / folder, output=target):
            sys.stdout.write(f"{artifact}\n")


if __name__ == "__main__":
    main()
