"""The public standard's published clients and middlewares, as they are: PyPI's in an environment that is their own, npm's."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.x402.exact.environment import foreign_python
from tests.x402.exact.middlewares.shops import standing
from tests.x402.exact.sellers import Shop

_HERE: Final = Path(__file__).parent
_SECONDS: Final = 60


def bought_by_pypi(
    url: str, key: str, *, allowed: str = "", solana_node: str = "", scheme: str = "exact", evm_node: str = ""
) -> Any:
    """What PyPI x402's client gets for its money; `allowed` is a network and an asset that it does not know.

    With a Solana node's address it pays on Solana. With an EVM node's it signs the token's own permit where Permit2 is not allowed.
    """
    return bought(
        [foreign_python(), str(_HERE / "foreign" / "payer.py"), f"{url}/report"],
        {"PAYER_KEY": key, "ALLOWED": allowed, "SOLANA_RPC_URL": solana_node, "SCHEME": scheme, "RPC_URL": evm_node},
    )


def bought_by_npm(
    url: str,
    key: str,
    package: str,
    *,
    allowed: str = "",
    solana_node: str = "",
    scheme: str = "exact",
    evm_node: str = "",
) -> Any:
    """The same of an npm client."""
    return bought(
        ["node", str(_HERE / "pay.mjs"), package, f"{url}/report", *allowed.split()],
        {"PAYER_KEY": key, "SOLANA_RPC_URL": solana_node, "SCHEME": scheme, "RPC_URL": evm_node},
    )


def bought(command: list[str], settings: dict[str, str]) -> Any:
    """What a program prints that pays with these settings. Fails if the program does."""
    told = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


@contextmanager
def second_shop(shop: Shop) -> Iterator[str]:
    """Sell a page in version 2, through the library's middleware; yield where."""
    with standing("fastapi", shop) as stand:
        stand.release()
        yield stand.url
