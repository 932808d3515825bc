"""`python -m gateway.core.embedded HOME`: run only the engines, until a signal.

With `--scratch` nothing is synced and every start begins empty. With `--until-unused FILE` they also end once no process
holds a shared flock on FILE. Test sessions that share the engines each hold one.
"""

import argparse
import fcntl
import logging
import signal
import sys
from pathlib import Path
from types import FrameType

from gateway.core.embedded.account import EnginesError
from gateway.core.embedded.supervisor import Engines


def main() -> int:
    """Run until stopped; the exit status is 1 when the engines do not start."""
    options = _parser().parse_args()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, _leave)
    try:
        with Engines(options.home, durable=not options.scratch):
            _wait(options.until_unused)
    except EnginesError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gateway.core.embedded")
    parser.add_argument("home", type=Path)
    parser.add_argument("--scratch", action="store_true")
    parser.add_argument("--until-unused", type=Path, metavar="FILE")
    return parser


def _wait(until_unused: Path | None) -> None:
    if until_unused is None:
        signal.pause()
        return
    with until_unused.open() as users:
        fcntl.flock(users, fcntl.LOCK_EX)


def _leave(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
