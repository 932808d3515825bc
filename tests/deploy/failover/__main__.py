"""`python -m tests.deploy.failover [TROUBLE ...]`: run the troubles, one after the other, and print what stood still.

Needs root: it makes network and process namespaces of its own, and begins again inside of them.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.deploy.failover.cluster import PATRONI, StartError

PROGRAMS: Final = ("etcd", "haproxy", "pgbouncer", "ip", "nsenter", "setpriv", "unshare")
_NOT_STARTED: Final = """The machines did not start: {}
Above are the ends of their logs. Mend what the one that failed says, or try again if the host was busy. Everything that was started is ended."""
_INSIDE: Final = "FLORIN_FAILOVER_INSIDE"
_NAMESPACES: Final = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")


def missing() -> list[str]:
    """Return what this machine lacks, in words."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    found = [f"the program {name}" for name in PROGRAMS if not shutil.which(name, path=path)]
    if not (PATRONI / "bin" / "python").exists():
        found.append("Patroni in var/patroni (script/failover installs it)")
    if subprocess.run([*_NAMESPACES, "true"], check=False).returncode:
        found.append("the right to make network and process namespaces")
    return found


def main(arguments: Sequence[str]) -> int:
    """Run it; return 1 where something is missing, lost or doubled."""
    from tests.deploy.failover.troubles import TROUBLES, run, show_logs

    parser = argparse.ArgumentParser(prog="script/failover", description=__doc__)
    parser.add_argument("troubles", nargs="*", metavar="TROUBLE", help=", ".join(TROUBLES))
    parser.add_argument("--rounds", type=int, default=1, help="how often to run each")
    parser.add_argument("--rate", type=float, default=10, help="checkouts a second")
    parser.add_argument("--brief", action="store_true", help="end once creation goes on")
    parser.add_argument("--report", type=Path, help="write what was found as JSON")
    options = parser.parse_args(arguments)
    if lacking := missing():
        sys.stderr.write(f"This machine lacks {'; '.join(lacking)}.\n")
        return 1
    if _INSIDE not in os.environ:
        again = ("-m", "tests.deploy.failover", *arguments)
        # The shell stays process 1, which takes over processes that lost their parent.
        line = ("sh", "-c", '"$@"; exit $?', "sh", sys.executable, *again)
        os.execvpe("unshare", [*_NAMESPACES, *line], os.environ | {_INSIDE: "1"})
    home = Path(tempfile.mkdtemp(prefix="florin-failover-"))
    home.chmod(0o755)
    try:
        names = [name for name in options.troubles or TROUBLES for _ in range(options.rounds)]
        report = run(home, names, rate=options.rate, brief=options.brief)
    except StartError as error:
        show_logs(home)
        sys.stderr.write(f"{_NOT_STARTED.format(error)}\n")
        return 1
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if options.report:
        options.report.write_text(json.dumps(report.as_json()))
    sys.stdout.write(f"{report.as_text()}\n")
    return 0 if report.is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
