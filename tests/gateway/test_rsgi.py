"""What a web process has done before it takes its first request."""

import os
import subprocess
import sys

from tests.tree import ROOT

IMPORTED = """
import sys
import gateway.rsgi
print({"checkouts.api", "checkouts.page.views", "x402.api"} - sys.modules.keys())
"""
NEEDED = """
import sys
import gateway.rsgi
print({"web3", "eth_account", "eth_keys"} - sys.modules.keys())
"""


def started(program: str, **settings: str) -> str:
    """What a program that imports a web process's entry point prints last."""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


def test_views_are_imported_before_the_first_request() -> None:
    assert started(IMPORTED) == "set()"


def test_what_the_first_signed_payment_needs_is_imported_before_it() -> None:
    assert started(NEEDED, GAS_KEYS="0x" + "11" * 32) == "set()"


def test_a_web_process_starts_though_a_gas_key_cannot_be_read() -> None:
    assert "Front" in started("import gateway.rsgi as r\nprint(r.application)", GAS_KEYS="0x7")
