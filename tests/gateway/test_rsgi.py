"""What a web process has done before it takes its first request."""

import subprocess
import sys

from tests.tree import ROOT

IMPORTED = """
import sys
import gateway.rsgi
print({"checkouts.api", "checkouts.page.views", "x402.api"} - sys.modules.keys())
"""


def test_views_are_imported_before_the_first_request() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "set()"
