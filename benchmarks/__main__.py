"""`python -m benchmarks [NAME ...]`: run benchmarks, print the results, and store them with --save."""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module

NAMES = (
    "creation",
    "reading",
    "webhooks",
    "watcher",
    "attribution",
    "detection",
    "polling",
    "streams",
    "scale",
    "searching",
    "sweeping",
    "verifying",
    "settling",
    "machines",
    "layers",
    "memory",
    "imports",
    "page",
    "disk",
    "tracing",
    "currencies",
    "fullrate",
    "atonce",
)


def main() -> None:
    """Run the named benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(NAMES)}; default all")
    parser.add_argument("--rounds", type=int, default=5, help="rounds to take the median of (default 5)")
    parser.add_argument("--seconds", type=float, default=3, help="length of a round (default 3)")
    parser.add_argument("--save", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    names = options.names or NAMES
    if len(names) > 1:
        sys.exit(_each_in_its_own_process(names))
    for report in import_module(f"benchmarks.{names[0]}").run(rounds=options.rounds, seconds=options.seconds):
        report.print()
        if options.save:
            report.save()


def _each_in_its_own_process(names: Sequence[str]) -> int:
    """Run each in its own process: Django is bound to one database for a process's lifetime."""
    further = [argument for argument in sys.argv[1:] if argument not in names]
    command = [sys.executable, "-m", "benchmarks"]
    return max(subprocess.run([*command, name, *further], check=False).returncode for name in names)


if __name__ == "__main__":
    main()
