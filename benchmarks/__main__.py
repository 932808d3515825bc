"""`python -m benchmarks [NAME ...]`: run benchmarks, print what was seen, keep it with --save."""

import argparse
from importlib import import_module

NAMES = ("creation", "reading", "webhooks", "watcher")


def main() -> None:
    """Run the benchmarks named, or all."""
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"any of {', '.join(NAMES)}; default all",
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds to take the median of (default 5)"
    )
    parser.add_argument(
        "--seconds", type=float, default=3, help="length of a round (default 3)"
    )
    parser.add_argument(
        "--save", action="store_true", help="keep the results in benchmarks/results"
    )
    options = parser.parse_args()
    for name in options.names or NAMES:
        for report in import_module(f"benchmarks.{name}").run(
            rounds=options.rounds, seconds=options.seconds
        ):
            report.print()
            if options.save:
                report.save()


if __name__ == "__main__":
    main()
