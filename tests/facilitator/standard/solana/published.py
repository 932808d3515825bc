"""The public standard's own library for Solana, in the environment that is its own (`setup_svm` of script/_setup.sh)."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.facilitator.standard.selling import Shop
from tests.tree import ROOT

_HERE: Final = Path(__file__).parent
_SETUP: Final = ". script/_setup.sh; setup_svm"
_SECONDS: Final = 60


def svm_python() -> str:
    """The interpreter that has the library; the first who asks in a clone waits for it to be installed."""
    folder = ROOT / "var"
    folder.mkdir(exist_ok=True)
    with (folder / "svm.lock").open("w") as lock:
        # Other processes of the same run ask too.
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["sh", "-eu", "-c", _SETUP], cwd=ROOT, check=True)
    return str(folder / "svm/bin/python")


def bought_by_pypi(python: str, url: str, *, key: str, node: str) -> str:
    """What the library's client gets for its money."""
    told = subprocess.run(
        [python, str(_HERE / "pypi_payer.py"), f"{url}/report"],
        env=os.environ | {"PAYER_KEY": key, "SOLANA_RPC_URL": node},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


@contextmanager
def selling_by_pypi(python: str, shop: Shop) -> Iterator[str]:
    """Sell a page through the library's middleware; yield where."""
    settings: dict[str, Any] = {
        "FACILITATOR_URL": shop.facilitator,
        "FACILITATOR_KEY": shop.key,
        "PAY_TO": shop.pay_to,
    }
    with subprocess.Popen(
        [python, str(_HERE / "pypi_seller.py")],
        env=os.environ | settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.communicate(timeout=_SECONDS)
